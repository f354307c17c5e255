"""Generation of LLVM IR text from legal loop IR."""
