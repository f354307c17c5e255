"""Operators of one element of each tensor."""
