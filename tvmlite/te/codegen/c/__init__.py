"""C99 of functions over loops."""
