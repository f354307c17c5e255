"""No index or size makes compiled code read outside its arrays, which here lie between guard pages."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import pytest
from small_models import I32, I64, F, floats, ints, one, tensor

HUGE = 2**62
X = np.arange(12, dtype=np.float32).reshape(4, 3)

GUARDED = """
import ctypes, sys
import numpy as np, onnx
import tvmlite
from tvmlite.core.errors import ExecutionError
from tvmlite.relay.frontend import from_onnx

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

def guarded(array, at_end):
    pages = -(-max(array.nbytes, 1) // 4096)
    base = libc.mmap(None, (pages + 2) * 4096, 3, 0x22, -1, 0)
    libc.mprotect(base, 4096, 0)
    libc.mprotect(base + (pages + 1) * 4096, 4096, 0)
    start = base + 4096 + (pages * 4096 - array.nbytes if at_end else 0)
    made = np.ndarray(array.shape, array.dtype, (ctypes.c_char * array.nbytes).from_address(start))
    made[...] = array
    return made

folder = sys.argv[1]
for k in range(int(sys.argv[2])):
    lib = tvmlite.compile(from_onnx(f"{folder}/{k}.onnx"))
    arrays = [a for _, a in sorted(np.load(f"{folder}/{k}.npz").items())]
    results = []
    for end in (True, False):
        try:
            results.append(np.array(lib(*(guarded(a, end) for a in arrays))))
        except ExecutionError as error:
            results.append(np.array(error.message))
    assert np.array_equal(*results), k
    np.save(f"{folder}/{k}.npy", results[0])
"""


def _refusal(op: str, extent: str, last: str = "") -> str:
    """The error message of a run with an index outside an axis."""
    return f'node "bad" ({op}): an index is outside [-{extent}, {last or f"{extent} - 1"}]'


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="places arrays between pages that may not be read")
def test_no_index_or_size_reads_outside_its_array(tmp_path) -> None:
    nothing, pixels = np.zeros((0, 3), np.float32), np.zeros((1, 1, 0, 4), np.float32)
    index, image = tensor("i", ["k"], I64), tensor("x", [1, 1, "h", 4])
    spread: Any = {"coordinate_transformation_mode": "asymmetric"}
    to = (floats("r", []), floats("s", []), ints("z", 1, 1, 3, 8))
    cases: list[tuple[onnx.ModelProto, tuple[np.ndarray, ...], Any]] = [
        (one("Gather", tensor("x", ["n", 3]), index), (X, np.array([2, -1, -4])), X[[2, 3, 0]]),
        *(
            (
                one("Gather", tensor("x", ["n", 3]), index),
                (X, np.array([0, wild, 1])),
                _refusal("Gather", "n"),
            )
            for wild in (4, -5, 2**31, -(2**31), HUGE, -HUGE, 2**63 - 1, -(2**63))
        ),
        (
            one("Gather", tensor("x", [3, 4]), tensor("i", [2, 2], I32), axis=1),
            (X.T.copy(), np.array([[0, 3], [-4, 4]], np.int32)),
            _refusal("Gather", "4", "3"),
        ),
        (one("Gather", tensor("x", ["n", 3]), index), (nothing, np.array([0])), _refusal("Gather", "n")),
        (one("Gather", tensor("x", [0, 3]), index), (nothing, np.array([-1])), _refusal("Gather", "0", "-1")),
        (one("Gather", tensor("x", ["n", 3]), index), (nothing, np.array([], np.int64)), nothing),
        (
            one("GatherElements", tensor("x", ["n", 3]), tensor("i", [2, 3], I64)),
            (X, np.array([[0, 1, 2], [3, 4, 0]])),
            _refusal("GatherElements", "n"),
        ),
        (
            one("GatherND", tensor("x", ["n", 3]), tensor("i", ["k", 2], I64)),
            (X, np.array([[3, 2], [0, -3]])),
            X[[3, 0], [2, -3]],
        ),
        (
            one("GatherND", tensor("x", ["n", 3]), tensor("i", ["k", 2], I64)),
            (X, np.array([[3, 2], [0, 3]])),
            _refusal("GatherND", "3", "2"),
        ),
        (
            one("ScatterND", tensor("x", ["n", 3]), tensor("i", ["k", 1], I64), tensor("u", ["k", 3])),
            (X, np.array([[HUGE]]), np.ones((1, 3), np.float32)),
            _refusal("ScatterND", "n"),
        ),
        (
            one("ScatterElements", tensor("x", ["n", 3]), tensor("i", [1, 3], I64), tensor("u", [1, 3])),
            (X, np.array([[0, -4, -5]]), np.ones((1, 3), np.float32)),
            _refusal("ScatterElements", "n"),
        ),
        (
            one("ArgMax", tensor("x", ["n", 3], F), axis=0),
            (nothing,),
            'node "bad" (ArgMax): an axis of extent n has no elements',
        ),
        (one("ArgMin", tensor("x", [3, "n"], F), axis=0), (nothing.T.copy(),), np.zeros((1, 0))),
        *(
            (
                one("Pad", tensor("x", ["n", 3]), ints("p", 1, 0, 1, 0), mode=mode),
                (nothing,),
                f'node "bad" (Pad): mode {mode} by 1 and 1 of axis 0 needs more elements than it has',
            )
            for mode in ("edge", "reflect")
        ),
        (one("Resize", image, *to, mode="linear", **spread), (pixels,), np.zeros((1, 1, 3, 8))),
        (
            one("Resize", image, *to, mode="nearest", nearest_mode="floor", **spread),
            (pixels,),
            np.zeros((1, 1, 3, 8)),
        ),
    ]
    for k, (made, arrays, _) in enumerate(cases):
        onnx.save(made, tmp_path / f"{k}.onnx")
        named: Any = dict(zip("abc", arrays, strict=False))
        np.savez(tmp_path / f"{k}.npz", **named)

    command = [sys.executable, "-c", GUARDED, str(tmp_path), str(len(cases))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    for k, (_, _, expected) in enumerate(cases):
        made = np.load(tmp_path / f"{k}.npy")
        if isinstance(expected, str):
            assert expected in str(made), k
        else:
            assert np.array_equal(made, expected), k
