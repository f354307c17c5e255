"""The executor that reports the time and the value of each node."""
