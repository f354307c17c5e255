"""What sampling, folding, pooling by index, caches and recurrent layers refuse, and how they say it."""

import pytest

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir import nodes as ir
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import tensor_type

IMAGE = ((1, 4, 5, 5), "float32")
TANH = (("tanh", 0.0, 0.0),)

ROWS = [
    ("image.grid_sample", {"method": "best"}, [IMAGE, ((1, 2, 3, 3), "float32")], "method is 'best'"),
    ("image.grid_sample", {}, [IMAGE, ((1, 3, 3, 3), "float32")], "the grid's second axis is 3, expected 2"),
    ("image.grid_sample", {}, [((1, 4, 5, 5), "int32"), ((1, 2, 3, 3), "float32")], "expects a float"),
    (
        "vision.roi_align",
        {"pooled_size": 2, "spatial_scale": 1.0},
        [IMAGE, ((3, 4), "float32")],
        "expected 5",
    ),
    ("linalg.det", {}, [((2, 3), "float32")], "the number of columns is 3, expected 2"),
    (
        "nn.col2im",
        {"image_shape": (5, 5), "kernel_size": (2, 2)},
        [((1, 6, 16), "float32")],
        "multiple of the 4",
    ),
    ("nn.col2im", {"image_shape": (5, 5), "kernel_size": (2, 2)}, [((1, 8, 15), "float32")], "windows is 15"),
    ("nn.max_pool_indices", {"pool_size": (6, 6)}, [IMAGE], "the window does not fit"),
    ("tensor_scatter", {"axis": 0}, [IMAGE, IMAGE, ((1,), "int64")], "axis is 0"),
    (
        "tensor_scatter",
        {},
        [IMAGE, ((1, 4, 6, 5), "float32"), ((1,), "int64")],
        "the update has 6 elements along the axis, the cache 5",
    ),
    (
        "nn.deformable_im2col",
        {"kernel_size": (2, 2)},
        [IMAGE, ((1, 6, 4, 4), "float32"), ((1, 4, 4, 4), "float32")],
        "the second axis of offset is 6, expected 8",
    ),
    (
        "nn.rnn_scan",
        {"activations": (("best", 0.0, 0.0),)},
        [((3, 2, 4), "float32"), ((1, 4, 1, 16), "float32"), ((2, 4), "float32"), ((2,), "int32")],
        "expected 1 of sigmoid",
    ),
    (
        "nn.rnn_scan",
        {"activations": TANH},
        [((3, 2, 4), "float32"), ((2, 4, 1, 16), "float32"), ((2, 4), "float32"), ((2,), "int32")],
        "the blocks of the recurrence is 2, expected 1",
    ),
    (
        "nn.rnn_scan",
        {"activations": TANH},
        [((3, 2, 4), "float32"), ((1, 4, 1, 8), "float32"), ((2, 4), "float32"), ((2,), "int32")],
        "the lanes of the recurrence are 8, expected a multiple of 16",
    ),
    (
        "nn.rnn_scan",
        {"activations": TANH},
        [((3, 2, 4), "float32"), ((1, 4, 1, 16), "float32"), ((2, 4), "float32"), ((2,), "float32")],
        "lengths are float32, expected integers",
    ),
]


@pytest.mark.parametrize(
    ("name", "attrs", "types", "message"), ROWS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_the_error_says_what_is_wrong(name, attrs, types, message):
    arguments = [ir.Var(f"x{i}", tensor_type(*given)) for i, given in enumerate(types)]

    with pytest.raises(TypeInferError, match=message):
        type_of(op.make(name, *arguments, **attrs))
