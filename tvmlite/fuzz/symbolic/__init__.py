"""Random graphs whose extents are expressions over named dimensions, compiled once, run at several sizes."""
