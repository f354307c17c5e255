"""What generated code, the runtime and its callers have agreed on: names, and signatures of functions."""
