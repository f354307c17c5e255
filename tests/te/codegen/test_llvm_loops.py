"""Loops that a schedule has unrolled are left to it; others are LLVM's."""

from __future__ import annotations

from tvmlite.core.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen import llvm
from tvmlite.te.codegen.llvm_loops import is_written_out
from tvmlite.te.loop import ir

TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4")


def index(value: int) -> te.Expr:
    return te.const(value, "int64")


def scaling(vectors: int, lanes: int = 16, scope: str = "param", length: int = 256) -> ir.For:
    """A loop that doubles ``vectors`` vectors of a buffer a turn."""
    buffer, i = ir.Buffer("a", "float32", (index(length),), scope), te.Var("i", "int64")
    stores = []
    for n in range(vectors):
        place: te.Expr = i * (vectors * lanes) + n * lanes
        if lanes > 1:
            place = te.Ramp(place, index(1), lanes)
        stores.append(ir.Store(buffer, (place,), ir.Load(buffer, (place,)) * 2.0))
    return ir.For(i, index(0), index(length // (vectors * lanes)), ir.sequence(*stores))


def left_alone(loop: ir.For) -> bool:
    return is_written_out(loop.var, loop.body, TARGET)


def test_a_loop_of_several_vectors_is_left_as_it_is() -> None:
    assert left_alone(scaling(4))


def test_prefetches_beside_the_vectors_change_nothing() -> None:
    loop = scaling(4)
    ahead = te.Call("prefetch", (loop.body.body[0].value.a,), "float32")  # type: ignore[attr-defined]

    assert is_written_out(loop.var, ir.sequence(ir.Evaluate(ahead), loop.body), TARGET)


def test_a_loop_of_few_vectors_or_of_scalars_is_llvms() -> None:
    assert not left_alone(scaling(2))
    assert not left_alone(scaling(8, lanes=1))


def test_a_loop_through_an_array_that_fits_into_registers_is_llvms() -> None:
    assert not left_alone(scaling(4, scope="local", length=512))
    assert left_alone(scaling(4, scope="local", length=1024))


def test_the_loop_that_is_left_says_so_to_llvm() -> None:
    loop = scaling(4)
    buffer = loop.body.body[0].buffer  # type: ignore[attr-defined]

    text = llvm.generate(ir.Function("scale", (buffer,), (buffer,), (), loop), TARGET)

    assert "!llvm.loop !1" in text
    assert text.endswith('!0 = !{!"llvm.loop.unroll.disable"}\n!1 = distinct !{!1, !0}\n')
