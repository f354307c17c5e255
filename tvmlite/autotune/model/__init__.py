"""Prediction of speed: features of candidates, and the cost models learned from measurements."""
