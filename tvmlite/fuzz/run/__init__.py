"""Many random programs through several processes: run, shrunk, reported."""
