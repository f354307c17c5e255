"""Passes that change the dtypes in which a graph computes."""
