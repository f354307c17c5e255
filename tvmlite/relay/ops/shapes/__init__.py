"""Shapes and layouts: operators that create, rearrange, slice and join tensors."""
