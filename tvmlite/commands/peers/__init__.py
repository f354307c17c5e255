"""Other runtimes, and the quantizer of one, that models are compared with; each is an optional extra."""
