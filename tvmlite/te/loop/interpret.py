"""The interpreter of loop IR: a reference that shares no code with the code generators."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import TOO_SMALL
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.te import expr as e
from tvmlite.te.loop import ir, scalars
from tvmlite.te.loop.ir import PREFETCHES
from tvmlite.te.tensor import registry

Run = Callable[[], Any]


def interpret(
    function: ir.Function,
    arguments: Sequence[Any],
    sizes: Mapping[e.Var, int] | None = None,
    *,
    constants: Mapping[str, np.ndarray] | None = None,
    kernels: Mapping[str, ir.Function] | None = None,
    threads: int = 3,
) -> list[np.ndarray]:
    """Run ``function``, in either form, on ``arguments`` (arrays and scalars in the order of its params).

    Outputs are C-contiguous arrays of the parameter's dtype, written in place. ``sizes`` that are not given
    are taken from the arrays' shapes. ``constants`` are the external symbols, ``kernels`` the functions that
    an entry calls. Parallel loops run in order, their iterations assigned round-robin to ``threads`` threads,
    each with its own part of the workspace. New memory is filled with NaN (ints: 0x7b bytes). An entry with
    data-dependent extents gets as much workspace as it needs, and its outputs in the workspace are returned.

    Raises ExecutionError for an access out of bounds and for an Assert that fails, InputError for
    arguments of a wrong number, dtype or shape. ``fma`` of float64 rounds twice, of narrower floats once
    (except for double rounding); all other arithmetic is rounded at each step to the node's dtype.
    """
    with _high_recursion_limit(), np.errstate(all="ignore"):
        run = _Run(function, dict(constants or {}), dict(kernels or {}), threads)
        run.start(arguments, sizes or {})
        return run.outputs()


class _TooSmall(Exception):
    """The workspace is too small for the data-dependent extents."""


@contextmanager
def _high_recursion_limit() -> Iterator[None]:
    """Raise the recursion limit, as long sums need deep recursion."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 100_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@dataclass
class _Memory:
    data: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Run:
    def __init__(
        self,
        function: ir.Function,
        constants: dict[str, np.ndarray],
        kernels: dict[str, ir.Function],
        threads: int,
    ) -> None:
        self.function, self.constants, self.kernels = function, constants, kernels
        self.values: dict[e.Expr, Any] = {ir.THREADS: np.int64(threads), ir.THREAD: np.int64(0)}
        self.memory: dict[ir.Buffer, _Memory] = {}
        self.compiled: dict[e.Expr, Run] = {}
        self.workspace = np.zeros(0, np.uint8)

    def start(self, arguments: Sequence[Any], sizes: Mapping[e.Var, int]) -> None:
        params = self.function.params
        if len(arguments) != len(params):
            raise InputError(
                f"function {self.function.name!r} takes {len(params)} arguments, {len(arguments)} given"
            )
        for var, value in sizes.items():
            self.values[var] = np.int64(value)
        for param, given in zip(params, arguments, strict=True):
            if isinstance(param, e.Var):
                self.values[param] = dtypes.numpy_of(param.dtype).type(given)
            else:
                self.read_sizes(param, np.asarray(given))
        for param, given in zip(params, arguments, strict=True):
            if isinstance(param, ir.Buffer):
                self.bind(param, given)
        if (numbers := self.function.dynamic_outputs) is not None:
            count = int(self.expr(numbers.shape[0])())
            self.memory[numbers] = self.place(numbers, np.full(count, -1, np.int64))
        if self.function.workspace is not None:
            amount = int(self.expr(self.function.workspace)())
            self.workspace = np.full(amount, 0xFF, np.uint8)
            self.values[ir.CAPACITY] = np.int64(amount)
        body = self.stmt(self.function.body)
        while True:
            try:
                body()
                return
            except _TooSmall:
                self.workspace = np.full(self.needed_workspace(), 0xFF, np.uint8)

    def needed_workspace(self) -> int:
        """The bytes of workspace found to be needed; also set as ``CAPACITY`` for the next attempt."""
        assert self.function.dynamic_outputs is not None
        self.values[ir.CAPACITY] = np.int64(self.memory[self.function.dynamic_outputs].data[0])
        return int(self.values[ir.CAPACITY])

    def outputs(self) -> list[np.ndarray]:
        """Copies of the data-dependent outputs, which are in the workspace."""
        if self.function.dynamic_outputs is None:
            return []
        numbers = iter(self.memory[self.function.dynamic_outputs].data[1:].tolist())
        made = []
        for buffer in self.function.outputs:
            if buffer not in self.function.params:
                start, shape = next(numbers), [next(numbers) for _ in buffer.shape]
                dtype = dtypes.numpy_of(buffer.dtype)
                count = int(np.prod(shape)) * dtype.itemsize
                made.append(self.workspace[start : start + count].view(dtype).reshape(shape).copy())
        return made

    def read_sizes(self, param: ir.Buffer, array: np.ndarray) -> None:
        for extent, length in zip(param.shape, array.shape, strict=False):
            if isinstance(extent, e.Var) and extent not in self.values:
                self.values[extent] = np.int64(length)

    def bind(self, param: ir.Buffer, given: Any) -> None:
        array = np.asarray(given)
        dtype = param.narrow_dtype or param.dtype
        wanted = dtypes.numpy_of(dtype)
        shape = tuple(int(self.expr(x)()) for x in param.shape)
        if array.dtype != wanted or array.shape != shape:
            raise InputError(
                f"argument {param.name!r} is {array.dtype} {array.shape}, expected {dtype} {shape}"
            )
        if param in self.function.outputs and not array.flags.c_contiguous:
            raise InputError(f"output {param.name!r} is not C-contiguous")
        flat = np.ascontiguousarray(array).reshape(-1)
        self.memory[param] = self.place(param, flat.view(dtypes.numpy_of(param.dtype)))

    def place(self, buffer: ir.Buffer, data: np.ndarray) -> _Memory:
        shape = tuple(int(self.expr(x)()) for x in buffer.shape)
        strides = tuple(int(self.expr(x)()) for x in buffer.strides)
        if not strides:
            strides = tuple(int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape)))
        return _Memory(data, shape, strides)

    def elements(self, buffer: ir.Buffer) -> int:
        """The number of elements that ``buffer`` spans, strides included."""
        empty = np.zeros(0)
        memory = self.place(buffer, empty)
        if 0 in memory.shape:
            return 0
        return 1 + sum((n - 1) * s for n, s in zip(memory.shape, memory.strides, strict=True))

    # -- statements

    def stmt(self, stmt: ir.Stmt) -> Run:
        match stmt:
            case ir.Store():
                return self.store(stmt)
            case ir.For():
                return self.loop(stmt)
            case ir.Seq(body):
                parts = [self.stmt(s) for s in body]

                def seq() -> None:
                    for part in parts:
                        part()

                return seq
            case ir.If(condition, then, otherwise):
                test, yes = self.expr(condition), self.stmt(then)
                no = self.stmt(otherwise) if otherwise is not None else lambda: None
                return lambda: yes() if test() else no()
            case ir.Choice(portable=portable):
                return self.stmt(portable)
            case ir.Let(var, value, body):
                get, inner, values = self.expr(value), self.stmt(body), self.values

                def let() -> None:
                    values[var] = get()
                    inner()

                return let
            case ir.While(condition, body):
                return self.repeat(self.expr(condition), self.stmt(body))
            case ir.Allocate(buffer, body):
                return self.allocate(buffer, self.stmt(body))
            case ir.View(buffer, offset, body):
                return self.view(buffer, self.expr(offset), self.stmt(body))
            case ir.Assert(condition, message):
                return self.check(self.expr(condition), message)
            case ir.Evaluate(value):
                return self.evaluate(value)
            case ir.CallKernel():
                return self.call(stmt)
        raise AssertionError(f"unknown statement {type(stmt).__name__}")

    def loop(self, loop: ir.For) -> Run:
        begin, extent, body = self.expr(loop.min), self.expr(loop.extent), self.stmt(loop.body)
        values, var, parallel = self.values, loop.var, loop.kind == ir.PARALLEL

        def run() -> None:
            first, count = int(begin()), int(extent())
            outer, threads = values[ir.THREAD], int(values[ir.THREADS])
            for iteration in range(count):
                values[var] = np.int64(first + iteration)
                if parallel:
                    values[ir.THREAD] = np.int64(iteration % threads)
                body()
            values[ir.THREAD] = outer

        return run

    def repeat(self, test: Run, body: Run) -> Run:
        def run() -> None:
            while test():
                body()

        return run

    def allocate(self, buffer: ir.Buffer, body: Run) -> Run:
        dtype = dtypes.numpy_of(buffer.dtype)

        def run() -> None:
            count = self.elements(buffer)
            if dtypes.is_float(buffer.dtype):
                data = np.full(count, np.nan).astype(dtype)
            else:
                data = np.full(count * dtype.itemsize, 0x7B, np.uint8).view(dtype)
            self.memory[buffer] = self.place(buffer, data)
            body()

        return run

    def view(self, buffer: ir.Buffer, offset: Run, body: Run) -> Run:
        dtype = dtypes.numpy_of(buffer.dtype)

        def run() -> None:
            start, length = int(offset()), self.elements(buffer) * dtype.itemsize
            whole, what = self.workspace, "a workspace"
            if buffer.scope == "constant":
                what = f"{self.function.name}_constants"
                whole = self.constants[what]
            if start < 0 or start + length > whole.size or start % dtype.itemsize:
                raise ExecutionError(
                    f"view {buffer.name!r} is bytes {start} to {start + length} of {what} of {whole.size}"
                )
            self.memory[buffer] = self.place(buffer, whole[start : start + length].view(dtype))
            body()

        return run

    def check(self, test: Run, message: str) -> Run:
        def run() -> None:
            if not test():
                raise _TooSmall if message == TOO_SMALL else ExecutionError(message)

        return run

    def evaluate(self, value: e.Expr) -> Run:
        if isinstance(value, e.Call) and value.name in PREFETCHES:
            return lambda: None  # a hint, whose address may be outside the buffer
        return self.expr(value)

    def call(self, call: ir.CallKernel) -> Run:
        callee = self.kernels[call.symbol]
        sizes = [self.expr(s) for s in call.sizes]

        def run() -> None:
            inner = _Run(callee, self.constants, self.kernels, int(self.values[ir.THREADS]))
            scalars = [p for p in callee.params if isinstance(p, e.Var)]
            values = dict(zip((*scalars, *callee.sizes), (int(s()) for s in sizes), strict=True))
            inner.values.update({v: np.int64(n) for v, n in values.items()})
            arguments: list[Any] = []
            buffers = iter(call.buffers)
            for param in callee.params:
                if isinstance(param, e.Var):
                    arguments.append(values[param])
                    continue
                shape = tuple(int(inner.expr(x)()) for x in param.shape)
                arguments.append(self.of(next(buffers)).data[: int(np.prod(shape))].reshape(shape))
            inner.start(arguments, {size: values[size] for size in callee.sizes})

        return run

    # -- memory

    def of(self, buffer: ir.Buffer) -> _Memory:
        known = self.memory.get(buffer)
        if known is None:
            assert buffer.scope == "constant", f"{buffer.name!r} is not in scope"
            if buffer.name not in self.constants:
                raise InputError(f"no constant {buffer.name!r} is given")
            data = np.ascontiguousarray(self.constants[buffer.name]).reshape(-1)
            known = self.memory[buffer] = self.place(buffer, data)
        return known

    def address(self, buffer: ir.Buffer, indices: Sequence[e.Expr], lanes: int) -> Run:
        """The flat element index of an access, with -1 in lanes out of bounds."""
        parts = [self.expr(i) for i in indices]
        if len(parts) == 1 and len(buffer.shape) != 1:
            return parts[0]  # already flat, in legal form

        def structured() -> Any:
            memory = self.of(buffer)
            total: Any = 0
            inside: Any = True
            for part, extent, stride in zip(parts, memory.shape, memory.strides, strict=True):
                index = part()
                inside = inside & (index >= 0) & (index < extent)
                total = total + index * stride
            return np.where(inside, total, -1) if lanes > 1 else total if inside else -1

        return structured

    def load(self, load: ir.Load) -> Run:
        buffer, lanes = load.buffer, load.lanes
        address = self.address(buffer, load.indices, lanes)
        mask = self.expr(load.predicate) if load.predicate is not None else None
        zero = dtypes.numpy_of(load.dtype).type(0)

        def scalar() -> Any:
            if mask is not None and not mask():
                return zero
            data, at = self.of(buffer).data, int(address())
            if not 0 <= at < data.size:
                raise self.outside("load", buffer, load.indices)
            return data[at]

        def vector() -> Any:
            data = self.of(buffer).data
            active = mask() if mask is not None else np.ones(lanes, bool)
            at = np.where(active, address(), 0)
            if np.any(active & ((at < 0) | (at >= data.size))):
                raise self.outside("load", buffer, load.indices)
            result = np.full(lanes, zero)
            result[active] = data[at[active]]
            return result

        return scalar if lanes == 1 else vector

    def store(self, store: ir.Store) -> Run:
        buffer, lanes = store.buffer, store.value.lanes
        address, value = self.address(buffer, store.indices, lanes), self.expr(store.value)
        mask = self.expr(store.predicate) if store.predicate is not None else None

        def scalar() -> None:
            if mask is not None and not mask():
                return
            new, data, at = value(), self.of(buffer).data, int(address())
            if not 0 <= at < data.size:
                raise self.outside("store", buffer, store.indices)
            data[at] = new

        def vector() -> None:
            new, data = value(), self.of(buffer).data
            active = mask() if mask is not None else np.ones(lanes, bool)
            at = np.where(active, address(), 0)
            if np.any(active & ((at < 0) | (at >= data.size))):
                raise self.outside("store", buffer, store.indices)
            data[at[active]] = scalars.splat(new, lanes)[active]

        return scalar if lanes == 1 else vector

    def outside(self, what: str, buffer: ir.Buffer, indices: Sequence[e.Expr]) -> ExecutionError:
        at = ", ".join(str(self.expr(i)()) for i in indices)
        shape = ", ".join(map(str, self.of(buffer).shape))
        return ExecutionError(
            f"{what} of {buffer.name}[{at}] in function {self.function.name!r} is outside its shape [{shape}]"
        )

    # -- expressions

    def expr(self, expr: e.Expr) -> Run:
        known = self.compiled.get(expr)
        if known is None:
            known = self.compiled[expr] = self.compile(expr)
        return known

    def compile(self, expr: e.Expr) -> Run:
        match expr:
            case e.Var():
                values = self.values
                return lambda: values[expr]
            case e.Const(value, dtype, lanes):
                fixed = scalars.splat(dtypes.numpy_of(dtype).type(value), lanes)
                return lambda: fixed
            case e.Binary():
                a, b, rule = self.expr(expr.a), self.expr(expr.b), scalars.BINARY[type(expr)]
                return lambda: rule(a(), b())
            case e.Not(a):
                inner = self.expr(a)
                return lambda: np.logical_not(inner())
            case ir.Load():
                return self.load(expr)
            case e.Cast(dtype, value):
                inner = self.expr(value)
                return lambda: scalars.cast(inner(), dtype)
            case e.Select(condition, a, b):
                test, yes, no, lanes = self.expr(condition), self.expr(a), self.expr(b), expr.lanes
                return lambda: scalars.choose(test(), yes(), no(), lanes)
            case e.Ramp(base, stride, lanes):
                first, step = self.expr(base), self.expr(stride)
                steps = np.arange(lanes).astype(dtypes.numpy_of(expr.dtype))
                return lambda: first() + step() * steps
            case e.Broadcast(value, lanes):
                inner = self.expr(value)
                return lambda: scalars.splat(inner(), lanes)
            case e.Foreign():
                return self.foreign(expr)
            case e.Call("address_of", (ir.Load() as load,)):
                return self.pointer(load)
            case e.Call():
                return self.intrinsic(expr)
        raise AssertionError(f"unknown expression {type(expr).__name__}")

    def pointer(self, load: ir.Load) -> Run:
        """The memory starting at the element that ``load`` reads."""
        address = self.address(load.buffer, load.indices, 1)
        return lambda: self.of(load.buffer).data[int(address()) :]

    def foreign(self, call: e.Foreign) -> Run:
        args, dtype, lanes = [self.expr(a) for a in call.args], dtypes.numpy_of(call.dtype), call.lanes
        if call.kind == "bits":
            return lambda: scalars.bits(args[0](), dtype, lanes)
        if call.kind == "packed":
            return lambda: self.packed(registry.get_global_func(call.name), call, [a() for a in args])
        rule = registry.reference(call.name)
        return lambda: scalars.splat(np.asarray(rule(*(a() for a in args))).astype(dtype)[()], lanes)

    def packed(self, function: Callable[..., Any], call: e.Foreign, values: list[Any]) -> Any:
        """Call a Python function on arrays and numbers. Returns its value, or the last argument if it gave
        None or raised; if it is called for its effect, 0, or 1 if it raised."""
        given: list[Any] = []
        words = call.form.split(",") if call.form else []
        returns_value = words[:1] == ["="]
        for word in words[returns_value:]:
            rank = word.partition(":")[2]
            if (text := registry.text_of(word)) is not None:
                given.append(text)
                continue
            if not rank:
                given.append(values.pop(0).item())
                continue
            data, shape = values[0], tuple(int(n) for n in values[1 : 1 + int(rank)])
            given.append(data[: int(np.prod(shape))].reshape(shape))
            del values[: 1 + int(rank)]
        kind, old = dtypes.numpy_of(call.dtype), given[-1] if returns_value else 1
        try:
            made = function(*given)
            return kind.type((old if made is None else made) if returns_value else 0)
        except Exception:  # the user's function fails here as in compiled code
            traceback.print_exc()
            return kind.type(old)

    def intrinsic(self, call: e.Call) -> Run:
        args, lanes = [self.expr(a) for a in call.args], call.lanes
        if call.name == "if_then_else":
            test, yes, no = args
            return lambda: scalars.splat(yes() if test() else no(), lanes)
        if call.name == "reinterpret":
            return lambda: scalars.reinterpret(args[0](), call.dtype)
        rule = scalars.intrinsic(call.name)
        return lambda: scalars.splat(rule(*(a() for a in args)), lanes)
