"""Number of windows of a pooling whose last window may extend beyond the end, by definition."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxruntime import InferenceSession

from tvmlite import relay
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx

SIZE, KERNEL, STRIDE = 7, 2, 2


def pooled(row: np.ndarray, padding: int, inside: bool, mean: bool, counts: bool) -> list[float]:
    """Return the pooling of a row, window by window, until one would start beyond the padding."""
    found, start = [], -padding
    while start + KERNEL - STRIDE < len(row) + padding and not (inside and start >= len(row)):
        window = range(start, start + KERNEL)
        values = [row[k] for k in window if 0 <= k < len(row)]
        counted = [k for k in window if -padding <= k < len(row) + padding] if counts else values
        if mean:
            found.append(sum(values) / max(1, len(counted)))
        else:
            found.append(max(values, default=np.finfo(np.float32).min))
        start += STRIDE
    return found


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("kind", "counts"), [("max", False), ("avg", False), ("avg", True)])
@pytest.mark.parametrize("target", ["native", "c"])
def test_windows_that_start_in_the_padding(kind: str, counts: bool, inside: bool, target: str) -> None:
    row = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    options = {"count_include_pad": counts} if kind == "avg" else {}
    x = relay.var("x", shape=(1, 1, "n"))
    made = getattr(relay.nn, f"{kind}_pool1d")(
        x, pool_size=KERNEL, strides=STRIDE, padding=1, ceil_mode=True, starts_inside=inside, **options
    )

    result = compile(relay.Function((x,), made), target)(row.reshape(1, 1, SIZE))

    wanted = pooled(row, 1, inside, kind == "avg", counts)
    assert len(wanted) == (4 if inside else 5)
    np.testing.assert_allclose(result.ravel(), wanted, rtol=1e-6)


@pytest.mark.parametrize("target", ["native", pytest.param("c", marks=pytest.mark.slow)])
def test_max_pool_padding_is_the_lowest_finite_number_as_in_onnxruntime(target: str) -> None:
    shapes = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, n]) for name, n in (("x", 4), ("y", 5))
    ]
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], strides=[1], pads=[1, 1])
    graph = helper.make_graph([node], "g", shapes[:1], shapes[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data = np.array([[[-np.inf, 2, 1, -np.inf]]], np.float32)

    (expected,) = InferenceSession(proto.SerializeToString()).run(None, {"x": data})
    np.testing.assert_array_equal(compile(from_onnx(proto), target)(data), expected)
