"""The basis of all rooms: errors, nodes, passes, dtypes, the calling convention."""

VERSION = "0.1.0"
"""The version of tvmlite."""
