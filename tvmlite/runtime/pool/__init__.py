"""The thread pool of compiled code, and its number of threads."""
