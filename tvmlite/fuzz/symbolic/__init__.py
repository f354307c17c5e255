"""Random graphs with extents over named dimensions, compiled once and run at several sizes."""
