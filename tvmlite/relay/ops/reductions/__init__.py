"""Reductions, normalizations, running totals and orders along axes."""
