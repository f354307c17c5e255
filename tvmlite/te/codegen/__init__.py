"""Code generation from legal loop IR: LLVM IR, object code and C99."""
