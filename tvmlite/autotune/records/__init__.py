"""Records of measurements: writing, reading, and finding the best."""
