"""An HTML page that replays a schedule: its loops, its code and its speed after each primitive."""

from tvmlite.te.visualizer.page import visualize

__all__ = ["visualize"]
