"""Draws a model's graph: one HTML page that needs nothing else."""

from tvmlite.graph_page.drawing import Box, Drawing, draw
from tvmlite.graph_page.page import page

__all__ = ["Box", "Drawing", "draw", "page"]
