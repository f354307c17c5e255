"""What the LLVM generator can do beyond plain vectors of float32, ints and bools: loaded on first use."""
