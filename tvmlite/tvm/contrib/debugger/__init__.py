"""The executor that shows the time and the value of each node."""
