"""Random quantized graphs, as quantizers write them, held against bounds that float64 gives."""
