"""Arrays with TVM's names: accepted and refused sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvmlite import runtime
from tvmlite.core.errors import BeyondMemory, InputError, TargetError, TvmliteError
from tvmlite.runtime import ndarray
from tvmlite.tvm import nd

CYCLE: list[Any] = []
CYCLE.append(CYCLE)


def test_arrays_are_copies_of_their_sources() -> None:
    given = np.arange(6, dtype="int16").reshape(2, 3)
    made = nd.array(given)

    assert made.dtype == "int16"
    assert not np.shares_memory(made, given)
    assert [nd.array(one).dtype for one in ([1, 2], 10, [1.5])] == ["int64", "int64", "float64"]
    np.testing.assert_array_equal(nd.array([0, 0, 0]).copyfrom((1, 2, 3)).numpy(), [1, 2, 3])
    assert nd.empty((2, 3), "int8", nd.cpu(1)).shape == (2, 3)
    assert str(nd.device("llvm -mcpu=haswell")) == "cpu(0)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: nd.array([[1, 2], [3]]),
            InputError,
            "array: a list given, expected an array, or nested numbers",
        ),
        (lambda: nd.array(CYCLE), InputError, "array: a list given, expected an array, or nested numbers"),
        (lambda: nd.array([1], "gpu"), InputError, "array: device: 'gpu' given, expected a device"),
        (lambda: nd.array([1]).copyfrom("text"), InputError, "copyfrom: 'text' given, expected an array"),
        (lambda: nd.array([1]).copyto(CYCLE), InputError, "copyto: a list given, expected an array of (1,)"),
        (lambda: nd.empty("soon"), InputError, "empty: shape: 'soon' given, expected an int of at least 0"),
        (lambda: nd.empty((1 << 50, 1 << 20)), BeyondMemory, "empty: no memory for shape"),
        (lambda: nd.cpu(-1), TargetError, "cpu: index: -1 given, expected an int of at least 0"),
        (lambda: nd.device(CYCLE), TargetError, "device a list is not a CPU"),
        (lambda: ndarray.device("cuda"), TargetError, "device 'cuda' is not a CPU"),
        (lambda: runtime.empty((1 << 62, 4)), BeyondMemory, "empty: no memory for shape"),
        (
            lambda: runtime.empty((2,), alignment="8"),
            InputError,
            "empty: alignment: '8' given, expected an int",
        ),
        (
            lambda: runtime.tensor(["a"]),
            InputError,
            "tensor: a list given, expected an array, or nested numbers",
        ),
        (lambda: runtime.Tensor([1]), InputError, "Tensor: array: a list given, expected a numpy array"),
    ],
)
def test_invalid_arrays_are_refused(call: Callable[[], Any], error: type[TvmliteError], message: str) -> None:
    with pytest.raises(error) as raised:
        call()

    assert str(raised.value).startswith(message)
    assert "test_ndarray.py" in str(raised.value)
