"""The parts of the benchmark of searches (``search.py``)."""
