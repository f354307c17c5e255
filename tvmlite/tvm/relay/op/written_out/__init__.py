"""Functions of TVM that are written out in several calls of operators."""
