"""Random computes, as program text."""
