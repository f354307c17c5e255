"""Relay text as TVM 0.11 prints and reads it."""
