"""Generation of statements of entries and functions of dynamic sizes: kernel calls, Asserts, while loops."""

from __future__ import annotations

from typing import Any

from tvmlite.core.abi import symbols
from tvmlite.te.codegen.llvm.emitters import emits
from tvmlite.te.codegen.llvm.text import Writer, register_type
from tvmlite.te.loop import ir


@emits(ir.While)
def _while(body: Any, stmt: ir.While) -> None:
    w = body.w
    head, inside, after = w.new_block(), w.new_block(), w.new_block()
    w.jump(head)
    w.enter(head)
    body.values.forget_loads()  # the body jumps here as well
    with body.values.region():
        w.branch(body.decided(stmt.condition), inside, after)
        w.enter(inside)
        body.statement(stmt.body)
        w.jump(head)
    w.enter(after)


@emits(ir.Assert)
def _assert(body: Any, stmt: ir.Assert) -> None:
    body.require(body.evaluate(stmt.condition), str(body.function.messages.index(stmt.message) + 1))


@emits(ir.CallKernel)
def _call_kernel(body: Any, stmt: ir.CallKernel) -> None:
    w = body.w
    arguments = [("ptr", body.pointer_of(buffer)) for buffer in stmt.buffers]
    arguments += [(register_type(s.dtype), body.evaluate(s)) for s in stmt.sizes]
    if stmt.workspace is not None:
        offset = body.evaluate(stmt.workspace)
        address = w.emit(f"getelementptr inbounds i8, ptr {body.workspace}, i64 {offset}")
        arguments += [("ptr", address), ("i64", body.values.value(ir.THREADS))]
    if stmt.profile_slot < 0:
        code = w.call(stmt.symbol, "i32", arguments)
    else:
        code = _timed(w, stmt, arguments)
    body.pass_on(code, stmt.messages_from)
    body.values.forget_loads()


def _timed(w: Writer, stmt: ir.CallKernel, arguments: list[tuple[str, str]]) -> str:
    """Call a kernel and return its code; its duration is stored if the caller passes a profile pointer."""
    wanted = w.emit("icmp ne ptr %profile, null")
    start = _now(w, wanted)
    code = w.call(stmt.symbol, "i32", arguments)
    end = _now(w, wanted)
    timed, on = w.new_block(), w.new_block()
    w.branch(wanted, timed, on)
    w.enter(timed)
    slot = w.emit(f"getelementptr inbounds i64, ptr %profile, i64 {stmt.profile_slot}")
    w.do(f"store i64 {w.emit(f'sub i64 {end}, {start}')}, ptr {slot}, align 8")
    w.jump(on)
    w.enter(on)
    return code


def _now(w: Writer, wanted: str) -> str:
    """The time in nanoseconds if the i1 ``wanted`` is true, else 0."""
    before, asking, after = w.block, w.new_block(), w.new_block()
    w.branch(wanted, asking, after)
    w.enter(asking)
    time = w.call(symbols.NOW, "i64", [])
    w.jump(after)
    w.enter(after)
    return w.emit(f"phi i64 [ {time}, %{asking} ], [ 0, %{before} ]")
