"""Passes that choose the element types in which operators compute."""
