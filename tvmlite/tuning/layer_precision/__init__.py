"""Finds the layers that are faster in few bits than in float32, measured in the model."""
