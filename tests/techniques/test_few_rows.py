"""Convolutions with few rows and symbolic width: no runtime guard in the innermost loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite.relay.ir.nodes import Function, Module, constant, var
from tvmlite.relay.ir.op import make


def _compiled(channels: int) -> Any:
    weight = np.random.default_rng(0).standard_normal((channels, 8, 3)).astype("float32")
    x = var("x", (1, 8, "t"))
    body = make("nn.conv1d", x, constant(weight), padding=(1, 1))
    return tvmlite.compile(Module({"main": Function((x,), body)})), weight


@pytest.mark.parametrize("channels", [16 * 26, 16 * 60])
def test_kernels_with_many_panels_have_no_guards_in_their_inner_loops(channels: int) -> None:
    lib, _ = _compiled(channels)

    (name,) = [one for one in lib.kernel_names if "conv1d" in one]

    assert "if i2" not in lib.source("loops", name).split("for ic")[-1].split("for i1")[0]


@pytest.mark.parametrize("channels", [24, 16 * 26])
@pytest.mark.parametrize("width", [1, 7, 12, 37, 200])
def test_results_are_correct_for_any_width(channels: int, width: int) -> None:
    lib, weight = _compiled(channels)
    x = np.random.default_rng(1).standard_normal((1, 8, width)).astype("float32")
    padded = np.pad(x[0], ((0, 0), (1, 1)))

    want = sum(weight[:, :, k] @ padded[:, k : k + width] for k in range(3))

    np.testing.assert_allclose(lib(x)[0], want, rtol=1e-4, atol=1e-4)
