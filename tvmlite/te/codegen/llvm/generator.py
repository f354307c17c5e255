"""Generation of LLVM IR from legal loop IR: the text of a module with one function."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi import symbols
from tvmlite.core.node import reachable
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.codegen.contraction import with_multiply_adds
from tvmlite.te.codegen.llvm import arith, memory
from tvmlite.te.codegen.llvm.emitters import emits, emitter_of
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.loops import has_enough_stores, invariants, is_explicit
from tvmlite.te.codegen.llvm.text import Module, Writer, symbol
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir

_STACK_ALIGNMENT = 64


def generate(function: ir.Function, target: Target) -> str:
    """The LLVM IR of a module with ``function``, which must be legal (``passes.legalize``).

    The calling convention is that of ``core.abi.signature``. Bodies of parallel loops become internal
    functions. The text depends only on the function and the target.
    """
    nodes = reachable(function)
    if any(isinstance(node, e.Call) for node in nodes):
        function = extension("math").expand_intrinsics(function, target)
    elif any(isinstance(node, (e.ContractedAdd, e.ContractedSub)) for node in nodes):
        function = with_multiply_adds(function)
    if any(isinstance(node, e.Cast) and node.dtype in ("int8", "uint8") for node in nodes):
        function = extension("llvm.packed_stores").combine(function, target)
    tiles = any(isinstance(node, e.Foreign) and node.kind == "tile" for node in nodes)
    body_class = extension("llvm.tiles").TileBody if tiles else Body
    module = Module(target, is_explicit(function, target))
    _generate_whole(body_class(module, function))
    return module.text()


def _generate_whole(body: Body) -> None:
    """Generate the function itself, with the parameters that ``loop.signature`` gives it."""
    function, values = body.function, body.values
    wanted: dict[object, str] = {p: p.name for p in (*function.params, *function.sizes)}
    names = {key: f"%p.{name}" for key, name in symbols.unique_names(wanted).items()}
    parameters = []
    for param in function.params:
        if isinstance(param, ir.Buffer):
            parameters.append(f"{body.pointer_type(param)} {names[param]}")
            body.pointers[param] = names[param]
        else:
            parameters.append(f"{memory.memory_type(body.w, param.dtype)} {names[param]}")
            values.bind(param, memory.from_memory(body.w, names[param], param.dtype, 1))
    for size in function.sizes:
        parameters.append(f"i64 {names[size]}")
        values.bind(size, names[size])
    if function.workspace is not None:
        parameters += [f"ptr noalias align {symbols.WORKSPACE_ALIGNMENT} %workspace", "i64 %threads"]
        body.workspace = "%workspace"
        values.bind(ir.THREADS, "%threads")
    if function.dynamic_outputs is not None:
        parameters += ["ptr %dynamic_outputs", "i64 %capacity"]
        body.pointers[function.dynamic_outputs] = "%dynamic_outputs"
        values.bind(ir.CAPACITY, "%capacity")
    if function.kernels:
        parameters.append("ptr %profile")
    values.bind(ir.THREAD, "0")
    body.begin(function.body)
    if function.counts_runs:
        counter = symbol(f"{function.name}_runs")
        runs = body.w.module.define(counter, f"{counter} = internal global i32 0")
        body.w.do(f"call void {body.w.module.declare(symbols.NEXT_RUN, 'void', 'ptr')}(ptr {runs})")
    body.statement(function.body)
    body.finish(f"define i32 {symbol(function.name)}({', '.join(parameters)})")


class Body:
    """Generates the statements of one LLVM function: the loop IR function, or the body of a parallel loop."""

    def __init__(self, module: Module, function: ir.Function, is_parallel: bool = False) -> None:
        self.function, self.is_parallel = function, is_parallel
        self.w = Writer(module)
        self.pointers: dict[ir.Buffer, str] = {}
        self.values = Expressions(self.w, self.pointer_of)
        self.workspace = ""

    def begin(self, stmt: ir.Stmt) -> None:
        """Begin the function that executes ``stmt``; variables bound so far are known in all of it."""
        self.values.addresses.begin()

    def finish(self, header: str) -> None:
        """End the function with a return of 0 (success) and add it to the module."""
        self.w.do("ret i32 0")
        self.w.finish(header)

    def pointer_type(self, param: ir.Buffer) -> str:
        """The type of an array parameter, with LLVM attributes for aliasing, access and alignment."""
        access = "" if param in self.function.outputs else " readonly"
        return f"ptr noalias{access} align {dtypes.bytes_of(param.dtype)}"

    def pointer_of(self, buffer: ir.Buffer) -> str:
        """The address of ``buffer``'s first element."""
        if buffer not in self.pointers:
            assert buffer.scope == "constant", f"{buffer.name} of scope {buffer.scope} has no memory here"
            return self.w.module.declare_data(buffer.name)
        return self.pointers[buffer]

    def statement(self, stmt: ir.Stmt) -> None:
        """Generate ``stmt``: bind the outer Lets, Allocates and Views, then generate the inner statement."""
        while True:
            match stmt:
                case ir.Let(var, value, body):
                    self.values.bind(var, self.evaluate(value))
                case ir.Allocate(buffer, body):
                    self.pointers[buffer] = self._allocation(buffer)
                case ir.View(buffer, offset, body):
                    self.pointers[buffer] = self._view(buffer, offset)
                case _:
                    break
            stmt = body
        self.inner(stmt)

    def inner(self, stmt: ir.Stmt) -> None:
        """Generate a statement other than Let, Allocate and View."""
        emitter_of(stmt).emit(self, stmt)

    def evaluate(self, expr: e.Expr) -> str:
        """The value of ``expr``. If it has effects, values loaded before are dropped."""
        value = self.values.value(expr)
        self.values.forget_loads()
        return value

    def decided(self, condition: e.Expr) -> str:
        """The i1 value of ``condition``, for a branch."""
        return arith.decided(self.w, condition, self.evaluate(condition))

    def _allocation(self, buffer: ir.Buffer) -> str:
        count = 1
        for extent in buffer.shape:
            assert isinstance(extent, e.Const), f"{buffer.name}: an allocation of constant size is legal only"
            count *= int(extent.value)
        element = memory.memory_type(self.w, buffer.dtype)
        return self.w.allocate(f"[{count} x {element}]", max(buffer.alignment, _STACK_ALIGNMENT))

    def _view(self, buffer: ir.Buffer, offset: e.Expr) -> str:
        base = self.workspace
        if buffer.scope == "constant":
            base = self.w.module.declare_data(self.function.constants_symbol)
        address = self.values.addresses.view(base, offset)
        self.values.forget_loads()
        return address

    def loop(self, var: e.Var, first: str, end: str, body: ir.Stmt, certain: bool) -> None:
        """Execute ``body`` for ``var`` in ``first .. end - 1``; ``certain``: at least one iteration."""
        w = self.w
        head, after = w.new_block(), w.new_block()
        before = w.block
        if certain:
            w.jump(head)
        else:
            w.branch(w.emit(f"icmp slt i64 {first}, {end}"), head, after)
        w.enter(head)
        phi = w.mark()
        counter = f"%i.{head}"
        with self.values.loop(var, counter):
            self.statement(body)
        following = w.emit(f"add nsw i64 {counter}, 1")
        with w.at(phi):
            w.do(f"{counter} = phi i64 [ {first}, %{before} ], [ {following}, %{w.block} ]")
        enough = not w.module.explicit and has_enough_stores(var, body, w.module.target)
        again = w.emit(f"icmp ne i64 {following}, {end}")
        w.branch(again, head, after, w.module.no_unroll_metadata() if enough else "")
        w.enter(after)

    def require(self, holds: str, code: str) -> None:
        """Continue if the i1 ``holds``, else return ``code``."""
        fine, broken = self.w.new_block(), self.w.new_block()
        self.w.branch(holds, fine, broken)
        self.w.enter(broken)
        self.w.do(f"ret i32 {code}")
        self.w.enter(fine)

    def pass_on(self, code: str, added: int = 0) -> None:
        """Return a callee's ``code`` plus ``added``, unless ``code`` is 0."""
        other = self.w.emit(f"add i32 {code}, {added}") if added else code
        self.require(self.w.emit(f"icmp eq i32 {code}, 0"), other)


@emits(ir.Seq)
def _seq(body: Body, stmt: ir.Seq) -> None:
    for one in stmt.body:
        if isinstance(one, (ir.Let, ir.Allocate, ir.View)):
            with body.values.region():
                body.statement(one)
        else:
            body.inner(one)


@emits(ir.Store)
def _store(body: Body, stmt: ir.Store) -> None:
    body.values.store(stmt)
    body.values.forget_loads(stmt.buffer)


@emits(ir.Evaluate)
def _evaluate(body: Body, stmt: ir.Evaluate) -> None:
    body.evaluate(stmt.value)


@emits(ir.If)
def _if(body: Body, stmt: ir.If) -> None:
    w, holds = body.w, body.decided(stmt.condition)
    then, otherwise, after = w.new_block(), w.new_block(), w.new_block()
    w.branch(holds, then, otherwise if stmt.otherwise is not None else after)
    for label, side in ((then, stmt.then), (otherwise, stmt.otherwise)):
        if side is not None:
            w.enter(label)
            with body.values.region():
                body.statement(side)
            w.jump(after)
    w.enter(after)


@emits(ir.For)
def _for(body: Body, loop: ir.For) -> None:
    assert loop.kind in (ir.SERIAL, ir.PARALLEL), f"a {loop.kind} loop is not legal loop IR"
    if loop.kind == ir.PARALLEL and not body.is_parallel:
        extension("llvm.parallel").run(body, loop)
        return
    w, first, extent = body.w, body.evaluate(loop.min), body.evaluate(loop.extent)
    end = extent if e.is_const(loop.min, 0) else w.emit(f"add nsw i64 {first}, {extent}")
    certain = isinstance(loop.extent, e.Const) and loop.extent.value > 0
    fixed = invariants(loop, w.module.target)
    with body.values.region():
        after = ""
        if fixed and not certain:
            ready, after = w.new_block(), w.new_block()
            w.branch(w.emit(f"icmp slt i64 {first}, {end}"), ready, after)
            w.enter(ready)
        for value in fixed:
            body.values.value(value)
        body.loop(loop.var, first, end, loop.body, certain or bool(fixed))
        if after:
            w.jump(after)
            w.enter(after)
