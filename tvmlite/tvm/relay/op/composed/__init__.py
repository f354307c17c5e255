"""Functions of TVM that are composed of several operators here, by subject."""
