"""Libraries of compiled models: linking, checking, loading, and calls by the names of inputs."""
