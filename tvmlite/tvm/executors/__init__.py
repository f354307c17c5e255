"""What runs a compiled model: inputs are set by name, the model is run, outputs are read."""
