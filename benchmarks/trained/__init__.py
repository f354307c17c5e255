"""Trained models that packages carry: fetched, given inputs, checked and timed."""
