"""Parts of the LLVM generator beyond contiguous vectors of float32, ints and bools, loaded on first use."""
