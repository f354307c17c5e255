"""Reductions, normalizations, cumulative sums and sorts along axes."""
