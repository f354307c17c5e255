"""Examples of TVM's other operators that read and write at indices, and of einsum."""

import numpy as np

from tvmlite.relay.ir.types import dim

n, h = dim("n"), dim("h")
PLACES = np.array([[0, 1, 0], [2, 0, 2], [-1, 5, 2]])
ORDER = np.array([2, 0, 3, 1], np.int32)

EXAMPLES = [
    *(
        (name, {"axis": axis}, ["float32(4, 3)", PLACES, "float32(3, 3)"])
        for name in ("scatter", "scatter_add")
        for axis in (0, -1)
    ),
    ("scatter_elements", {"reduction": "mean"}, ["float32(4, 3)", PLACES, "float32(3, 3)"]),
    ("scatter_elements", {"reduction": "mean"}, ["bfloat16(4, 3)", PLACES, "bfloat16(3, 3)"]),
    ("scatter_elements", {"reduction": "mean", "axis": 1}, ["int32(3, 3)", PLACES, "int32(3, 3)"]),
    (
        "sparse_to_dense",
        {"output_shape": (3, 4)},
        [np.array([[0, 1], [2, 3], [1, 1]]), "float32(3)", "float32()"],
    ),
    ("sparse_to_dense", {"output_shape": (n,)}, [np.array([0, 3]), "int32(2)", "int32()"]),
    ("sparse_to_dense", {"output_shape": (5,)}, [np.array(2), "float32()", "float32()"]),
    ("sparse_to_dense", {"output_shape": (5,)}, [np.array([2, 4]), "float32()", "float32()"]),
    ("adv_index", {}, ["float32(4, 5, 3)", "int32(2, 1) in 0..4", "int64(n) in 0..5"]),
    ("adv_index", {}, ["int32(n, 5)", "int64(7) in 0..4"]),
    ("invert_permutation", {}, [ORDER]),
    ("invert_permutation", {}, [ORDER[:1] * 0]),
    ("meshgrid", {}, ["float32(3)", "float32(n)", "float32(2)"]),
    ("meshgrid", {"indexing": "xy"}, ["int32(3)", "int32()", "int32(2)"]),
    ("strided_set", {"begin": (1, 0), "end": (4, 3)}, ["float32(5, 3)", "float32(3, 3)"]),
    ("strided_set", {"begin": (3, 4), "end": (0, 0), "strides": (-1, -2)}, ["int32(4, 5)", "int32(3, 2)"]),
    ("strided_set", {"begin": (1,), "end": (-1,), "strides": (2,)}, ["float32(8, n)", "float32(3, n)"]),
    ("matrix_set_diag", {}, ["float32(n, 3, 4)", "float32(n, 3)"]),
    ("matrix_set_diag", {"k1": 1, "k2": 1}, ["int32(4, 3)", "int32(2)"]),
    *(
        (
            "matrix_set_diag",
            {"k1": -2, "k2": 1, "super_diag_right_align": a, "sub_diag_right_align": b},
            ["float32(2, 4, 5)", "float32(2, 4, 4)"],
        )
        for a in (True, False)
        for b in (True, False)
    ),
    ("trunc_divide", {}, ["float32(3, n)", "float32(n) in 0.5..3"]),
    ("trunc_divide", {}, ["int32(20)", "int32(20) in -3..4"]),
    ("trunc_mod", {}, ["float32(3, n)", "float32(n) in 0.5..3"]),
    ("trunc_mod", {}, ["int32(20)", "int32(20) in -3..4"]),
    *(
        ("einsum", {"equation": equation}, shapes)
        for equation, shapes in (
            ("ij,jk->ik", ["float32(3, 4)", "float32(4, n)"]),
            ("ij,jk", ["float32(3, 4)", "float32(4, 2)"]),
            ("ii->i", ["float32(4, 4)"]),
            ("i...->...", ["int32(4, 3, 2)"]),
            ("...ij, ...jk -> ...ik", ["float32(2, n, 3, 4)", "float32(n, 4, 5)"]),
            ("bhqd,bkhd->bqhk", ["float32(2, 3, 4, 5)", "float32(2, 6, 3, 5)"]),
            ("ij,jk->ik", ["bfloat16(3, 4)", "bfloat16(4, 2)"]),
            ("i,ij,j->", ["float64(3)", "float64(3, 4)", "float64(4)"]),
        )
    ),
]
