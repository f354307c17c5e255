"""Kernels scheduled by hand, and the peaks of the machine and other runtimes to compare them with."""
