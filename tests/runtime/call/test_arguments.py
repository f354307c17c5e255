"""What is accepted as an argument where the package of its dtype is not installed."""

from __future__ import annotations

import subprocess
import sys


def test_without_ml_dtypes_bits_are_taken_and_asked_for() -> None:
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
