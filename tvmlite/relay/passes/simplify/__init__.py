"""Passes that leave less to compute: folding, algebra, combining, dropping."""
