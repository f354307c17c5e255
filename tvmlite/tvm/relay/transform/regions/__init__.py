"""Passes that mark parts of a graph for other compilers, merge them and make them functions of the module."""
