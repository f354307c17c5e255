"""Random graphs whose extents are expressions over named dimensions, compiled once and run at several sizes."""
