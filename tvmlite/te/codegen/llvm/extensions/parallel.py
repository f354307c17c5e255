"""Generation of parallel loops: calls of the thread pool with the loop's outlined body."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from tvmlite.core.abi import symbols
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.text import Writer, register_type, symbol
from tvmlite.te.loop import ir

if TYPE_CHECKING:
    from tvmlite.te.codegen.llvm.generator import Body

WORKSPACE = "workspace"


def run(body: Body, loop: ir.For) -> None:
    """Generate ``loop`` as a call of the thread pool; the values its body uses are passed in a closure."""
    w = body.w
    captured = free_in(loop, body.pointers)
    if not isinstance(loop.min, e.Const):  # computed once, outside, and passed in the closure
        first = e.Var("first", e.INDEX)
        body.values.bind(first, body.evaluate(loop.min))
        loop = ir.For(loop.var, first, loop.extent, loop.body, loop.kind, loop.annotations)
        variables = sum(isinstance(key, e.Var) for key in captured)
        captured.insert(variables, first)
    types = [register_type(key.dtype, key.lanes) if isinstance(key, e.Var) else "ptr" for key in captured]
    structure = f"{{ {', '.join(types)} }}"
    function = _outlined(body, loop, captured, types)
    values = []
    for key in captured:
        if isinstance(key, e.Var):
            values.append(body.values.value(key))
        else:
            values.append(body.pointer_of(key) if isinstance(key, ir.Buffer) else body.workspace)
    closure = w.allocate(structure, 16)
    for number, (type_, value) in enumerate(zip(types, values, strict=True)):
        field = w.emit(f"getelementptr inbounds {structure}, ptr {closure}, i32 0, i32 {number}")
        w.do(f"store {type_} {value}, ptr {field}")
    extent = body.evaluate(loop.extent)
    if not isinstance(loop.extent, e.Const):
        extent = w.intrinsic("smax", "i64", extent, "0")
    name = symbols.SWEEP if loop.alternates_direction else symbols.PARALLEL_FOR
    callee = w.module.declare(name, "i32", "ptr, ptr, i64")
    body.pass_on(w.emit(f"call i32 {callee}(ptr {function}, ptr {closure}, i64 {extent})"))


def free_in(loop: ir.For, here: Container[ir.Buffer]) -> list[e.Var | ir.Buffer | str]:
    """The free variables and buffers of the body of ``loop``, each in order of first use, and ``WORKSPACE``
    if it has views of that. ``THREAD`` is not among them, as it is a parameter of the body.

    Buffers in ``here`` have an address in the surrounding code; other constants are symbols.
    """
    bound: set[object] = {loop.var, ir.THREAD}
    variables: dict[e.Var, None] = {}
    buffers: dict[ir.Buffer, None] = {}
    workspace = False
    nodes = list(postorder(loop.body))
    for node in nodes:
        for name in node.binders:
            bound.add(getattr(node, name))
        workspace = workspace or (isinstance(node, ir.View) and node.buffer.scope != "constant")
    for node in nodes:
        if isinstance(node, (ir.Load, ir.Store)):
            buffer = node.buffer
            if buffer not in bound and (buffer in here or buffer.scope != "constant"):
                buffers.setdefault(buffer)
        elif isinstance(node, e.Var) and node not in bound:
            variables.setdefault(node)
    return [*variables, *buffers, *[WORKSPACE] * workspace]


def _outlined(body: Body, loop: ir.For, captured: list[e.Var | ir.Buffer | str], types: list[str]) -> str:
    """Generate the loop's body as a function of (closure, begin, end, thread), and return its symbol.

    It passes the closure's fields to an inner function as parameters, so that arrays among them can have
    the attributes that they have as parameters of the outer function, such as ``noalias``.
    """
    module = body.w.module
    name = f"{body.function.name}.parallel{module.parallel()}"
    inner = symbol(f"{name}.body")
    _inner(type(body)(module, body.function, is_parallel=True), inner, loop, captured)
    w, structure, arguments = Writer(module), f"{{ {', '.join(types)} }}", []
    for number, type_ in enumerate(types):
        field = w.emit(f"getelementptr inbounds {structure}, ptr %closure, i32 0, i32 {number}")
        arguments.append(f"{type_} {w.emit(f'load {type_}, ptr {field}')}")
    given = ", ".join([*arguments, "i64 %begin", "i64 %end", "i64 %thread"])
    w.do(f"ret i32 {w.emit(f'call i32 {inner}({given})')}")
    w.finish(f"define internal i32 {symbol(name)}(ptr %closure, i64 %begin, i64 %end, i64 %thread)")
    return symbol(name)


def _inner(body: Body, name: str, loop: ir.For, captured: list[e.Var | ir.Buffer | str]) -> None:
    parameters, buffers = [], 0
    for number, key in enumerate(captured):
        if isinstance(key, e.Var):
            parameters.append(f"{register_type(key.dtype, key.lanes)} %c{number}")
            body.values.bind(key, f"%c{number}")
        elif isinstance(key, ir.Buffer):
            type_ = body.pointer_type(key) if key.scope == "param" else "ptr"
            parameters.append(f"{type_} %m{buffers}")
            body.pointers[key] = f"%m{buffers}"
            buffers += 1
        else:
            parameters.append("ptr %workspace")
            body.workspace = "%workspace"
    body.values.bind(ir.THREAD, "%thread")
    body.begin(loop.body)
    first = body.values.value(loop.min)
    begin = body.w.emit(f"add nsw i64 {first}, %begin")
    end = body.w.emit(f"add nsw i64 {first}, %end")
    body.loop(loop.var, begin, end, loop.body, certain=False)
    parameters += ["i64 %begin", "i64 %end", "i64 %thread"]
    body.finish(f"define internal i32 {name}({', '.join(parameters)}) noinline")
