"""What every room uses: errors, nodes, passes, dtypes, targets, the calling convention."""
