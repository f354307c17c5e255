"""From legal loop IR to code: LLVM IR, objects and C99."""
