"""What every room uses: errors, nodes, passes, dtypes, the calling convention."""

VERSION = "0.1.0"
"""Which tvmlite this is."""
