"""Passes that choose in which element types is computed."""
