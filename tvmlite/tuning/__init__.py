"""A whole model tuned: its graph, its kernels, and which of what was found is faster in the model itself."""
