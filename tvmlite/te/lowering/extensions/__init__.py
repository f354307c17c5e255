"""Lowering beyond the core, loaded when a schedule uses it (``te.extensions``)."""
