"""Explicit loops over buffers: the IR, its text, its rules, its oracle, and its passes."""
