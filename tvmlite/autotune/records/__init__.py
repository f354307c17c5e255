"""Records of measurements: written, read, and the best of them found."""
