"""What to compute: tensors, the operations that produce them, reductions, scans, intrinsics."""
