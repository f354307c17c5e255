"""Pages and tables as HTML: one kit for all that a browser or a notebook shows."""
