"""Executors run a compiled model: set inputs by name, run the model, get outputs."""
