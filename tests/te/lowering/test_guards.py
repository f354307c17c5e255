"""Where extents divide evenly, no loop has a guard, neither in lowered nor in legal form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvmlite import te
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.walk import statements

Made = tuple[te.Schedule, list[Any]]


def product(m: Any = 64, n: Any = 96, k: Any = 48) -> tuple[te.Schedule, te.Tensor, te.Tensor, te.Tensor]:
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_schedule(c.op), a, b, c


def tiled() -> Made:
    s, a, b, c = product()
    xo, yo, xi, yi = s[c].tile(*c.op.axis, 8, 32)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(xo, yo, ko, xi, ki, yi)
    s[c].vectorize(yi)
    s[c].unroll(ki)
    s[c].parallel(xo)
    return s, [a, b, c]


def by_parts() -> Made:
    s, a, b, c = product()
    i, j = c.op.axis
    io, _ = s[c].split(i, nparts=16)
    jo, ji = s[c].split(j, nparts=3)
    s[c].split(ji, nparts=8)
    s[c].reorder(jo, io)
    return s, [a, b, c]


def fused_and_split() -> Made:
    s, a, b, c = product()
    both = s[c].fuse(*c.op.axis)
    outer, inner = s[c].split(both, factor=128)
    _, lane = s[c].split(inner, factor=16)
    s[c].vectorize(lane)
    s[c].parallel(outer)
    return s, [a, b, c]


def of_tiles_fused() -> Made:
    s, a, b, c = product()
    xo, yo, xi, yi = s[c].tile(*c.op.axis, 16, 24)
    s[c].fuse(xo, yo)
    s[c].split(s[c].fuse(xi, yi), factor=12)
    return s, [a, b, c]


def packed_with_a_cache() -> Made:
    s, a, b, c = product()
    packed = s.cache_read(b, "local", [c])
    tile = s.cache_write(c, "local")
    _, yo, xi, yi = s[c].tile(*c.op.axis, 4, 32)
    s[tile].compute_at(s[c], yo)
    ko, ki = s[tile].split(s[tile].op.reduce_axis[0], factor=8)
    s[tile].reorder(ko, ki, *s[tile].op.axis)
    s[packed].compute_at(s[tile], ko)
    s[tile].vectorize(s[tile].op.axis[1])
    s[tile].unroll(s[tile].op.axis[0])
    s[c].vectorize(yi)
    s[c].unroll(xi)
    return s, [a, b, c]


def in_two_steps() -> Made:
    s, a, b, c = product()
    _, ki = s[c].split(c.op.reduce_axis[0], factor=16)
    partial = s.rfactor(c, ki, 2)
    s[partial].compute_at(s[c], c.op.axis[1])
    s[partial].vectorize(partial.op.axis[2])
    return s, [a, b, c]


def with_an_epilogue() -> Made:
    s, a, b, c = product()
    bias = te.placeholder((96,), name="bias")
    d = te.compute((64, 96), lambda i, j: te.max(c[i, j] + bias[j], 0.0), name="D")
    s = te.create_schedule(d.op)
    _, yo, _, yi = s[d].tile(*d.op.axis, 8, 16)
    s[c].compute_at(s[d], yo)
    s[c].reorder(c.op.reduce_axis[0], *c.op.axis)
    s[d].vectorize(yi)
    return s, [a, b, bias, d]


def epilogue_in_its_producer() -> Made:
    _, a, b, c = product()
    d = te.compute((64, 96), lambda i, j: te.exp(c[i, j]), name="D")
    s = te.create_schedule(d.op)
    xo, yo, xi, yi = s[c].tile(*c.op.axis, 8, 16)
    s[c].reorder(xo, yo, c.op.reduce_axis[0], xi, yi)
    s[d].reverse_compute_at(s[c], yo)
    return s, [a, b, d]


def reduction_taken_apart() -> Made:
    s, a, b, c = product()
    _, yo, _, yi = s[c].tile(*c.op.axis, 8, 16)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=8)
    s[c].reorder(yo, ko, ki, yi)
    s[c].decompose_reduction(ko)
    return s, [a, b, c]


def stencil() -> Made:
    a = te.placeholder((66, 130), name="A")
    rows = te.compute((66, 128), lambda i, j: a[i, j] + a[i, j + 1] + a[i, j + 2], name="rows")
    both = te.compute((64, 128), lambda i, j: rows[i, j] + rows[i + 1, j] + rows[i + 2, j], name="both")
    s = te.create_schedule(both.op)
    _, yo, _, yi = s[both].tile(*both.op.axis, 8, 32)
    s[rows].compute_at(s[both], yo)
    s[rows].vectorize(s[rows].split(rows.op.axis[1], factor=16)[1])
    s[both].vectorize(yi)
    return s, [a, both]


def convolution(stride: int = 1) -> Made:
    size = 16 * stride + 3 - stride
    x = te.placeholder((4, size, size, 16), name="X")
    w = te.placeholder((2, 4, 3, 3, 16, 16), name="W")
    q, h, v, i = (te.reduce_axis((0, n), t) for n, t in ((4, "q"), (3, "h"), (3, "v"), (16, "i")))
    y = te.compute(
        (2, 16, 16, 16),
        lambda o, r, c, b: te.sum(
            x[q, r * stride + h, c * stride + v, i] * w[o, q, h, v, i, b], axis=[q, h, v, i]
        ),
        name="Y",
    )
    s = te.create_schedule(y.op)
    tile = s.cache_write(y, "local")
    o, r, c, b = y.op.axis
    co, ci = s[y].split(c, factor=8)
    s[tile].compute_at(s[y], co)
    _, _, tc, tb = s[tile].op.axis
    s[tile].reorder(*s[tile].op.reduce_axis, tc, tb)
    for stage, column, block in ((s[y], ci, b), (s[tile], tc, tb)):
        stage.unroll(column)
        stage.vectorize(block)
    s[y].parallel(s[y].fuse(o, r))
    return s, [x, w, y]


def laid_out() -> Made:
    a = te.placeholder((32, 64), name="A")
    b = te.compute((32, 64), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((32, 64), lambda i, j: b[i, j] + 1.0, name="C")
    s = te.create_schedule(c.op)
    s[b].transform_layout(lambda i, j: [j // 16, i, j % 16])
    s[c].vectorize(s[c].split(c.op.axis[1], factor=16)[1])
    return s, [a, c]


def of_multiples_of_an_unknown() -> Made:
    n = te.size_var("n")
    a = te.placeholder((n, 64), name="A")
    b = te.compute((n, 64), lambda i, j: a[i, j] * 2.0, name="B")
    s = te.create_schedule(b.op)
    both = s[b].fuse(*b.op.axis)
    outer, lane = s[b].split(both, factor=16)
    s[b].vectorize(lane)
    s[b].parallel(outer)
    return s, [a, b]


def softmax() -> Made:
    x = te.placeholder((32, 256), name="x")
    k, q = te.reduce_axis((0, 256), "k"), te.reduce_axis((0, 256), "q")
    most = te.compute((32,), lambda i: te.max(x[i, k], k), name="most")
    power = te.compute((32, 256), lambda i, j: te.exp(x[i, j] - most[i]), name="power")
    total = te.compute((32,), lambda i: te.sum(power[i, q], q), name="total")
    y = te.compute((32, 256), lambda i, j: power[i, j] / total[i], name="y")
    s = te.create_schedule(y.op)
    outer, inner = s[y].split(y.op.axis[0], factor=4)
    for stage in (power, total, most):
        s[stage].compute_at(s[y], outer)
    for tensor in (power, y):
        s[tensor].vectorize(s[tensor].split(tensor.op.axis[1], factor=16)[1])
    s[y].unroll(inner)
    return s, [x, y]


def greatest_and_its_place() -> Made:
    x = te.placeholder((32, 64), name="x")
    k = te.reduce_axis((0, 64), "k")
    later = te.comm_reducer(
        lambda a, b: (te.if_then_else(a[1] >= b[1], a[0], b[0]), te.max(a[1], b[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    at, most = te.compute((32,), lambda i: later((k, x[i, k]), axis=k), name="at")
    s = te.create_schedule(at.op)
    s[at].split(k, factor=16)
    s[at].split(at.op.axis[0], nparts=4)
    return s, [x, at, most]


SCHEDULES: list[Callable[[], Made]] = [
    *(tiled, by_parts, fused_and_split, of_tiles_fused, packed_with_a_cache, in_two_steps, with_an_epilogue),
    *(epilogue_in_its_producer, reduction_taken_apart, stencil, convolution, lambda: convolution(2)),
    *(laid_out, of_multiples_of_an_unknown, softmax, greatest_and_its_place),
]


def guards(function: ir.Function) -> list[ir.Stmt]:
    """Conditions, and stores with a predicate."""
    every = statements(function.body)
    return [one for one in every if isinstance(one, ir.If) or getattr(one, "predicate", None) is not None]


@pytest.mark.parametrize("made", SCHEDULES, ids=lambda made: made.__name__)
def test_no_guard_is_left(made: Callable[[], Made]) -> None:
    schedule, args = made()
    lowered = te.lower(schedule, args)
    for function in (lowered, legalize(lowered, "native"), legalize(lowered, "c")):
        assert not guards(function), f"{guards(function)[0]}\nin\n{function}"


def test_guards_are_detected() -> None:
    s, a, b, c = product(m=63)
    s[c].split(c.op.axis[0], factor=8)
    assert guards(te.lower(s, [a, b, c]))
