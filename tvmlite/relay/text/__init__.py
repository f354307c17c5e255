"""The text of relay: printed, and read back."""
