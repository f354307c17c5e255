"""Kernels scheduled by hand, the machine's peaks they are held against, and the peers."""
