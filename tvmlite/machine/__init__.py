"""What is known of processors: what this one is, what it has, and the target that code is made for."""
