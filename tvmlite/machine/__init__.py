"""Processors: which one this is, the properties of each, and the target that code is compiled for."""
