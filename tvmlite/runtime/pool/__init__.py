"""The thread pool of compiled code, and how many threads it uses."""
