"""Formulas of transcendental functions, for both code generators."""
