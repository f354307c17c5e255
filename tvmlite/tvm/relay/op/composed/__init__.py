"""Functions of TVM that are made of several operators here, by subject."""
