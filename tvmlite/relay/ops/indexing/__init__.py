"""Reading and writing at indices."""
