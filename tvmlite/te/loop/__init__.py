"""The loop IR, explicit loops over buffers: nodes, printer, verifier, interpreter and passes."""
