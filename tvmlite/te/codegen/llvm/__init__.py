"""LLVM IR, as text, of functions over loops."""
