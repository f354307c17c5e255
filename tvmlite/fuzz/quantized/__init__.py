"""Random quantized graphs, as quantizers write them, checked against bounds computed in float64."""
