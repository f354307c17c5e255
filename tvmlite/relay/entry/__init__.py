"""From a fused graph to code: kernels lowered, memory planned, the entry that calls them."""
