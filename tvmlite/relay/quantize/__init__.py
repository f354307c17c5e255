"""Quantizing float models: nothing yet."""
