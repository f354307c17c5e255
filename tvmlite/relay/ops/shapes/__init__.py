"""Shapes and layouts: tensors made, moved, cut and joined."""
