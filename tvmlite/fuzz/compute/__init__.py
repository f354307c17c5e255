"""Random computes, as text of a program."""
