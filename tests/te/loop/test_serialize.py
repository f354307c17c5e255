"""Loop IR as plain data: a decoded function generates the same code."""

from __future__ import annotations

import json

import pytest

from tvmlite import te
from tvmlite.core.alike import alike
from tvmlite.machine.target import Target
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir, serialize
from tvmlite.te.loop.passes import legalize
from tvmlite.te.lowering.lower import lower

TARGET = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3")


def _matmul(size: int) -> ir.Function:
    """A tiled product whose last tiles are partial."""
    a, b = te.placeholder((size, 20), name="A"), te.placeholder((20, size), name="B")
    k = te.reduce_axis((0, 20), name="k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], k), name="C")
    d = te.compute((size, size), lambda i, j: te.exp(te.max(c[i, j], 0.5)), name="D")
    s = te.create_schedule(d.op)
    io, jo, ii, ji = s[d].tile(*d.op.axis, 4, 8)
    s[d].unroll(ii)
    s[d].vectorize(ji)
    s[d].parallel(io)
    s[c].compute_at(s[d], jo)
    s[c].vectorize(s[c].op.axis[1])
    s[c].pragma(s[c].op.axis[0], "auto_unroll_max_step", 16)
    return lower(s, [a, b, d])


def _open() -> ir.Function:
    """A computation with a symbolic extent."""
    n = te.var("n", "int64")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: te.if_then_else(i > 2, a[i] * 1.5, float("inf")), name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=16)
    return lower(s, [n, a, b])


@pytest.mark.parametrize("function", [_matmul(32), _matmul(30), _open()], ids=["whole", "tails", "open"])
def test_a_decoded_function_generates_the_same_code(function: ir.Function) -> None:
    back = serialize.decode(serialize.encode(function))

    assert back is not function
    assert str(back) == str(function)
    assert llvm.generate(legalize(back, TARGET), TARGET) == llvm.generate(legalize(function, TARGET), TARGET)


def test_shared_nodes_stay_shared() -> None:
    function = _matmul(32)
    back = serialize.decode(serialize.encode(function))

    assert serialize.encode(back) == serialize.encode(function)
    assert alike(back, function)


def test_the_encoding_is_rows_that_begin_with_a_number() -> None:
    rows = json.loads(serialize.encode(_matmul(30)))

    assert all(isinstance(row[0], int) for row in rows)
