"""Tasks with known answers, on which float and quantized models are compared."""
