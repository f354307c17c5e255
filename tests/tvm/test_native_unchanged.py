"""The behaviour of ``tvmlite.te`` does not change when ``tvmlite.tvm`` is imported."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from tvmlite import te
from tvmlite.core.errors import TvmliteError

def refused(make):
    try:
        return str(make())
    except TvmliteError as error:
        return type(error).__name__

def seen():
    n, m = te.var("n"), te.size_var("m")
    three, half = te.const(3), te.const(0.5)
    return [
        refused(make)
        for make in (
            lambda: n + m * 2,
            lambda: te.all(n > 1, m >= n),
            lambda: type(n > m).__name__,
            lambda: three < 4,
            lambda: half + half,
            lambda: three == 3,
            lambda: bool(three == 3),
            lambda: bool(n == n),
            lambda: n != None,
            lambda: n << 3,
            lambda: n << 40,
            lambda: ~te.var("x", "float32"),
            lambda: bool(three),
            lambda: te.compute((4,), lambda i: te.if_then_else(i > 1, i, 0), name="c").op.body[0],
            lambda: te.lower(te.create_schedule(te.compute((m,), lambda i: i * n, name="c").op), [n]),
        )
    ]

before = seen()
import tvmlite.tvm
from tvmlite.tvm import arith, te as _, tir
tir.AttrStmt, arith.Analyzer
after = seen()
for one, other in zip(before, after):
    assert one == other, (one, other)
print("unchanged")
"""


def test_importing_tvmlite_tvm_does_not_change_te() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)

    assert (done.stdout.strip(), done.stderr) == ("unchanged", "")
