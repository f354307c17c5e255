"""How command lines are read."""
