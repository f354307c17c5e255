"""What is computed: tensors, the operations that make them, reductions, scans, intrinsics."""
