"""The values that a program must compute, found without lowering, and the comparison with its results."""
