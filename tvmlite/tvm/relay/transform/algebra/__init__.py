"""Passes that replace operator calls by equivalent ones."""
