"""Gradients of functions: reverse-mode differentiation of a graph, and the rules for operators."""
