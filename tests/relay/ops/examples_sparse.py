"""Examples of sparse matrices in CSR format."""

import numpy as np

COLUMNS = np.array([1, 0, 3, 2, 0, 1], np.int32)
STARTS = np.array([0, 1, 3, 3, 6], np.int32)
SQUARE = np.array([1, 0, 3, 2, 0, 1], np.int32), np.array([0, 1, 3, 3, 6], np.int32)

EXAMPLES = [
    ("nn.sparse_dense", {}, ["float32(n, 4)", "float32(6)", COLUMNS, STARTS]),
    ("nn.sparse_dense", {}, ["float32(3, 8)", "float32(6, 3, 2)", COLUMNS, STARTS]),
    ("nn.sparse_dense", {}, ["int32(2, 16)", "int32(6, 1, 4)", COLUMNS, STARTS]),
    ("nn.sparse_add", {}, ["float32(4, 5)", "float32(6)", COLUMNS, STARTS]),
    ("nn.sparse_add", {}, ["int32(4, n)", "int32(6)", COLUMNS, STARTS]),
    ("nn.sparse_transpose", {}, ["float32(6)", *SQUARE]),
    ("nn.sparse_transpose", {}, ["int32(2)", np.array([1, 0]), np.array([0, 1, 2])]),
    (
        "sparse_reshape",
        {},
        [np.array([[0, 0, 0], [0, 1, 2], [1, 2, 3]]), np.array([2, 3, 4]), np.array([4, -1])],
    ),
    (
        "sparse_reshape",
        {},
        [np.array([[5], [11]], np.int32), np.array([12], np.int32), np.array([2, 3, 2], np.int32)],
    ),
    ("sparse_reshape", {}, [np.array([[0, 9], [1, 2]]), np.array([2, 3]), np.array([2, -1])]),
]
