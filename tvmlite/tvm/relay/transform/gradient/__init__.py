"""Gradients of functions: the reverse walk over a graph, and the rules of operators."""
