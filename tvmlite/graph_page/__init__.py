"""Draws a model's graph as one self-contained HTML page."""

from tvmlite.graph_page.drawing import Box, Drawing, draw
from tvmlite.graph_page.page import page

__all__ = ["Box", "Drawing", "draw", "page"]
