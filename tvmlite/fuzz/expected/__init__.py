"""What a program must compute, found without lowering, and whether it does."""
