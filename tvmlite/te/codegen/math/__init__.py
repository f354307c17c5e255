"""Arithmetic formulas of transcendental functions, for both code generators."""
