"""From a fused graph to code: lower kernels, plan memory, build the entry that calls them."""
