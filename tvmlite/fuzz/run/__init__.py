"""Many random programs in several processes: run, shrunk, reported."""
