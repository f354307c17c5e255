"""What ``quantize`` does, mode by mode, and what it gives."""
