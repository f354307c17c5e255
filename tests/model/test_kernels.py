"""The interface of a kernel that the cache stores with its code."""

import json

import pytest

from tvmlite.core.alike import alike
from tvmlite.model import kernels
from tvmlite.relay.entry.entry import KernelInterface
from tvmlite.relay.ir.dims import dim
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop

n, m = dim("n"), dim("threads")


@pytest.mark.parametrize(
    "size",
    [
        e.const(64, e.INDEX),
        loop.THREADS * 4096 + m,
        e.Max(e.TruncDiv(n - 400, e.const(160, e.INDEX)) + 1, e.const(0, e.INDEX)) * 4,
        e.TruncMod(n, m) + n // 3 * 3 + e.Min(n, m) - n % 7,
        e.Select(e.And(n < m, e.Not(e.Equal(n, m))), n, m * 2),
        e.Select(e.Or(n <= m, e.NotEqual(n, m)), n, e.Select(e.const(True, "bool"), n, m)),
        e.cast(e.INDEX, n < m) * 64,
    ],
    ids=str,
)
def test_a_workspace_size_survives_a_round_trip_through_json(size: e.Expr) -> None:
    interface = KernelInterface("kernel", (n, m), size, ("too small",))

    back = kernels._decode(json.loads(json.dumps(kernels._encode(interface))))

    assert back.sizes == interface.sizes
    assert alike(back.workspace, size)
