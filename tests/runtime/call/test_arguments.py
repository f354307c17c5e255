"""Accepting arguments without the package of their dtype, and many arrays at once."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from tvmlite.core.abi.signature import Parameter
from tvmlite.core.errors import InputError
from tvmlite.runtime.call.arguments import ArrayParameter, refuse_overlap


def test_without_ml_dtypes_arrays_of_bits_are_accepted_and_expected() -> None:
    code = r"""
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
from tvmlite.core.abi.signature import Parameter
from tvmlite.core.errors import InputError
from tvmlite.runtime.call.arguments import ArrayParameter, accept
expected = ArrayParameter(Parameter("x", "input", "int4", (3,)))
bits = np.array([1, 15, 7], np.uint8)
assert accept("f", expected, bits) is bits or (accept("f", expected, bits) == bits).all()
try:
    accept("f", expected, np.zeros(3, np.int8))
except InputError as error:
    wanted = "has dtype int8, expected int4: without the package ml_dtypes its bits, uint8"
    assert wanted in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_checking_many_arrays_for_overlap_is_fast() -> None:
    """Comparing all pairs would take seconds."""
    memory = np.zeros(6000, np.float32)
    arrays = [
        (ArrayParameter(Parameter(f"x{k}", "output", "float32", (2,))), memory[2 * k : 2 * k + 2])
        for k in range(3000)
    ]
    start = time.thread_time()
    refuse_overlap("f", arrays)
    assert time.thread_time() - start < 0.5

    arrays[2999] = (arrays[2999][0], memory[7:9])
    with pytest.raises(InputError, match="output 'x3' overlaps 'x2999'"):
        refuse_overlap("f", arrays)
