"""Passes that reduce computation: folding, algebra, merging, removal of unused code."""
