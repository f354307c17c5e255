"""From legal loop IR to LLVM IR: a module of one function, as text."""

from __future__ import annotations

from tvmlite.core import abi
from tvmlite.core import dtype as dtypes
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import cast, tiles
from tvmlite.te.codegen.llvm.expr import Expressions, decided
from tvmlite.te.codegen.llvm.loops import invariants, is_explicit, is_written_out
from tvmlite.te.codegen.llvm.parallel import Captured, captured
from tvmlite.te.codegen.llvm.text import Module, Writer, register_type, symbol
from tvmlite.te.codegen.math.expand import expand_intrinsics
from tvmlite.te.loop import ir

_STACK_ALIGNMENT = 64


def generate(function: ir.Function, target: Target) -> str:
    """The LLVM IR of a module with ``function``, which must be legal (``passes.legalize``).

    Its calling convention is ``core.abi``'s. Parallel loops become internal functions of their own. The
    text depends on nothing but the function and the target.
    """
    function = expand_intrinsics(function, target)
    module = Module(target, is_explicit(function, target))
    _Function(module, function).generate()
    return module.text()


class _Function:
    """The loop IR function being generated: what its own body and its parallel loops' share."""

    def __init__(self, module: Module, function: ir.Function) -> None:
        self.module = module
        self.function = function
        self.codes = {message: code for code, message in enumerate(function.messages, 1)}
        self.parallels = 0

    def generate(self) -> None:
        function = self.function
        wanted: dict[object, str] = {p: p.name for p in (*function.params, *function.sizes)}
        names = {key: f"%p.{name}" for key, name in abi.unique_names(wanted).items()}
        body = _Body(self)
        parameters = []
        for param in function.params:
            if isinstance(param, ir.Buffer):
                parameters.append(f"{self._pointer_type(param)} {names[param]}")
                body.pointers[param] = names[param]
            else:
                parameters.append(f"{cast.memory_type(body.w, param.dtype)} {names[param]}")
                body.values.bind(param, cast.from_memory(body.w, names[param], param.dtype, 1))
        for size in function.sizes:
            parameters.append(f"i64 {names[size]}")
            body.values.bind(size, names[size])
        if function.workspace is not None:
            parameters += [f"ptr noalias align {abi.WORKSPACE_ALIGNMENT} %workspace", "i64 %threads"]
            body.workspace = "%workspace"
            body.values.bind(ir.THREADS, "%threads")
        if function.told is not None:
            parameters += ["ptr %told", "i64 %capacity"]
            body.pointers[function.told] = "%told"
            body.values.bind(ir.CAPACITY, "%capacity")
        if function.kernels:
            parameters.append("ptr %profile")
        body.values.bind(ir.THREAD, "0")
        body.values.addresses.begin()
        body.know_tiles(function.body)
        if function.counts_runs:
            runs = self.module.define(*_counter(f"{function.name}_runs"))
            body.w.do(f"call void {self.module.declare(abi.NEXT_RUN, 'void', 'ptr')}(ptr {runs})")
        body.statement(function.body)
        body.finish(f"define i32 {symbol(function.name)}({', '.join(parameters)})")

    def _pointer_type(self, param: ir.Buffer) -> str:
        access = "" if param in self.function.outputs else " readonly"
        return f"ptr noalias{access} align {dtypes.bytes_of(param.dtype)}"

    def parallel_body(self, loop: ir.For, taken: Captured) -> str:
        """Generate the loop's body as a function of (closure, begin, end, thread); its symbol.

        The closure's fields are handed to an inner function as parameters, so that LLVM may know of the
        arrays among them what it knows of the outer function's parameters: that they do not overlap.
        """
        name = f"{self.function.name}.parallel{self.parallels}"
        self.parallels += 1
        inner = symbol(f"{name}.body")
        keys: list[object] = [*taken.variables, *taken.buffers]
        parameters = self._generate_inner(inner, loop, taken)
        w = Writer(self.module)
        structure = f"{{ {', '.join(taken.types)} }}"
        arguments = []
        for number, type_ in enumerate(taken.types):
            address = w.emit(f"getelementptr inbounds {structure}, ptr %closure, i32 0, i32 {number}")
            arguments.append(f"{type_} {w.emit(f'load {type_}, ptr {address}')}")
        assert len(parameters) == len(keys) + taken.workspace
        given = ", ".join([*arguments, "i64 %begin", "i64 %end", "i64 %thread"])
        w.do(f"ret i32 {w.emit(f'call i32 {inner}({given})')}")
        w.finish(f"define internal i32 {symbol(name)}(ptr %closure, i64 %begin, i64 %end, i64 %thread)")
        return symbol(name)

    def _generate_inner(self, name: str, loop: ir.For, taken: Captured) -> list[str]:
        body = _Body(self, is_parallel=True)
        parameters = []
        for number, var in enumerate(taken.variables):
            parameters.append(f"{register_type(var.dtype, var.lanes)} %c{number}")
            body.values.bind(var, f"%c{number}")
        for number, buffer in enumerate(taken.buffers):
            type_ = self._pointer_type(buffer) if buffer.scope == "param" else "ptr"
            parameters.append(f"{type_} %m{number}")
            body.pointers[buffer] = f"%m{number}"
        if taken.workspace:
            parameters.append("ptr %workspace")
            body.workspace = "%workspace"
        body.values.bind(ir.THREAD, "%thread")
        body.values.addresses.begin()
        body.know_tiles(loop.body)
        body.configure_tiles()
        first = body.values.value(loop.min)
        begin = body.w.emit(f"add nsw i64 {first}, %begin")
        end = body.w.emit(f"add nsw i64 {first}, %end")
        body.loop(loop.var, begin, end, loop.body, certain=False)
        extra = ["i64 %begin", "i64 %end", "i64 %thread"]
        body.finish(f"define internal i32 {name}({', '.join(parameters + extra)}) noinline")
        return parameters


def _counter(name: str) -> tuple[str, str]:
    """The symbol of a number that begins as 0, and its definition."""
    return symbol(name), f"{symbol(name)} = internal global i32 0"


class _Body:
    """The statements of one LLVM function."""

    def __init__(self, owner: _Function, is_parallel: bool = False) -> None:
        self.owner = owner
        self.w = Writer(owner.module)
        self.pointers: dict[ir.Buffer, str] = {}
        self.values = Expressions(self.w, self.pointer_of)
        self.workspace = ""
        self._is_parallel = is_parallel
        self._tile_forms: list[str] = []

    def know_tiles(self, stmt: ir.Stmt) -> None:
        """Note how ``stmt``, all that the function does, uses the tile registers."""
        self._tile_forms = tiles.forms_in(stmt, parallel=not self._is_parallel)
        self.values.several_tile_forms = len(self._tile_forms) > 1

    def configure_tiles(self) -> None:
        """Configure the tile registers for the function; where it uses them in several ways, they are
        configured each time they are reset."""
        if len(self._tile_forms) == 1:
            tiles.configure(self.w, self._tile_forms[0])

    def finish(self, header: str) -> None:
        """End the function with success and add it to the module."""
        if self._tile_forms:
            tiles.release(self.w)
        self.w.do("ret i32 0")
        self.w.finish(header)

    def pointer_of(self, buffer: ir.Buffer) -> str:
        """The address of ``buffer``'s first element."""
        if buffer not in self.pointers:
            assert buffer.scope == "constant", f"{buffer.name} of scope {buffer.scope} has no memory here"
            return self.w.module.declare_data(buffer.name)
        return self.pointers[buffer]

    def statement(self, stmt: ir.Stmt) -> None:
        """Generate ``stmt``; what surrounds an inner statement (lets, views) is bound on the way to it."""
        while True:
            match stmt:
                case ir.Let(var, value, body):
                    self.values.bind(var, self._evaluate(value))
                case ir.Allocate(buffer, body):
                    self.pointers[buffer] = self._allocation(buffer)
                case ir.View(buffer, offset, body):
                    self.pointers[buffer] = self._view(buffer, offset)
                case _:
                    break
            stmt = body
        self._proper(stmt)

    def _proper(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Seq(statements):
                for one in statements:
                    if isinstance(one, (ir.Let, ir.Allocate, ir.View)):
                        with self.values.region():
                            self.statement(one)
                    else:
                        self.statement(one)
            case ir.Store():
                self.values.store(stmt)
                self.values.forget_loads(stmt.buffer)
            case ir.For():
                self._for(stmt)
            case ir.If():
                self._if(stmt)
            case ir.While():
                self._while(stmt)
            case ir.Evaluate(value):
                self._evaluate(value)
            case ir.Assert(condition, message):
                self._require(self._evaluate(condition), str(self.owner.codes[message]))
                if tiles.is_permission(condition):
                    self.configure_tiles()
            case ir.CallKernel():
                self._call_kernel(stmt)
                self.values.forget_loads()
            case _:
                raise AssertionError(f"{type(stmt).__name__} is not a statement of legal loop IR")

    def _evaluate(self, expr: e.Expr) -> str:
        value = self.values.value(expr)
        self.values.forget_loads()
        return value

    def _decided(self, condition: e.Expr) -> str:
        """The truth of ``condition``, to branch by."""
        return decided(self.w, condition, self._evaluate(condition))

    def _allocation(self, buffer: ir.Buffer) -> str:
        count = 1
        for extent in buffer.shape:
            assert isinstance(extent, e.Const), f"{buffer.name}: an allocation of constant size is legal only"
            count *= int(extent.value)
        element = cast.memory_type(self.w, buffer.dtype)
        return self.w.allocate(f"[{count} x {element}]", max(buffer.alignment, _STACK_ALIGNMENT))

    def _view(self, buffer: ir.Buffer, offset: e.Expr) -> str:
        base = self.workspace
        if buffer.scope == "constant":
            base = self.w.module.declare_data(f"{self.owner.function.name}_constants")
        address = self.values.addresses.view(base, offset)
        self.values.forget_loads()
        return address

    def _for(self, loop: ir.For) -> None:
        assert loop.kind in (ir.SERIAL, ir.PARALLEL), f"a {loop.kind} loop is not legal loop IR"
        if loop.kind == ir.PARALLEL and not self._is_parallel:
            self._parallel(loop)
            return
        first, extent = self._evaluate(loop.min), self._evaluate(loop.extent)
        end = extent if e.is_const(loop.min, 0) else self.w.emit(f"add nsw i64 {first}, {extent}")
        certain = isinstance(loop.extent, e.Const) and loop.extent.value > 0
        fixed = invariants(loop, self.w.module.target)
        with self.values.region():
            if fixed and not certain:
                ready, after = self.w.new_block(), self.w.new_block()
                self.w.branch(self.w.emit(f"icmp slt i64 {first}, {end}"), ready, after)
                self.w.enter(ready)
            for value in fixed:
                self.values.value(value)
            self.loop(loop.var, first, end, loop.body, certain or bool(fixed))
            if fixed and not certain:
                self.w.jump(after)
                self.w.enter(after)

    def loop(self, var: e.Var, first: str, end: str, body: ir.Stmt, certain: bool) -> None:
        """``body`` for ``var`` from ``first`` to before ``end``; ``certain``: at least once."""
        w = self.w
        head, after = w.new_block(), w.new_block()
        before = w.block
        if certain:
            w.jump(head)
        else:
            w.branch(w.emit(f"icmp slt i64 {first}, {end}"), head, after)
        w.enter(head)
        place = w.hold()
        counter = f"%i.{head}"
        with self.values.loop(var, counter):
            self.statement(body)
        following = w.emit(f"add nsw i64 {counter}, 1")
        with w.at(place):
            w.do(f"{counter} = phi i64 [ {first}, %{before} ], [ {following}, %{w.block} ]")
        enough = not w.module.explicit and is_written_out(var, body, w.module.target)
        w.branch(
            w.emit(f"icmp ne i64 {following}, {end}"), head, after, w.module.written_out() if enough else ""
        )
        w.enter(after)

    def _parallel(self, loop: ir.For) -> None:
        w, taken = self.w, captured(loop, self.pointers)
        if not isinstance(loop.min, e.Const):  # computed once, out here, and taken along
            loop, taken = self._with_first(loop, taken)
        body = self.owner.parallel_body(loop, taken)
        structure = f"{{ {', '.join(taken.types)} }}"
        values = [self.values.value(v) for v in taken.variables]
        values += [self.pointer_of(b) for b in taken.buffers]
        values += [self.workspace] * taken.workspace
        closure = w.allocate(structure, 16)
        for number, (type_, value) in enumerate(zip(taken.types, values, strict=True)):
            address = w.emit(f"getelementptr inbounds {structure}, ptr {closure}, i32 0, i32 {number}")
            w.do(f"store {type_} {value}, ptr {address}")
        extent = self._evaluate(loop.extent)
        if not isinstance(loop.extent, e.Const):
            extent = w.intrinsic("smax", "i64", extent, "0")
        callee = w.module.declare(
            abi.SWEEP if loop.alternates_direction else abi.PARALLEL_FOR, "i32", "ptr, ptr, i64"
        )
        self._pass_on(w.emit(f"call i32 {callee}(ptr {body}, ptr {closure}, i64 {extent})"))
        if tiles.forms_in(loop.body, parallel=False):  # which has released them on this thread, too
            self.configure_tiles()

    def _with_first(self, loop: ir.For, taken: Captured) -> tuple[ir.For, Captured]:
        first = e.Var("first", e.INDEX)
        self.values.bind(first, self._evaluate(loop.min))
        moved = ir.For(loop.var, first, loop.extent, loop.body, loop.kind, loop.annotations)
        return moved, Captured((*taken.variables, first), taken.buffers, taken.workspace)

    def _if(self, stmt: ir.If) -> None:
        w, holds = self.w, self._decided(stmt.condition)
        then, otherwise, after = w.new_block(), w.new_block(), w.new_block()
        w.branch(holds, then, otherwise if stmt.otherwise is not None else after)
        for label, side in ((then, stmt.then), (otherwise, stmt.otherwise)):
            if side is not None:
                w.enter(label)
                with self.values.region():
                    self.statement(side)
                w.jump(after)
        w.enter(after)

    def _while(self, stmt: ir.While) -> None:
        w = self.w
        head, inside, after = w.new_block(), w.new_block(), w.new_block()
        w.jump(head)
        w.enter(head)
        self.values.forget_loads()  # the body, too, leads here
        with self.values.region():
            w.branch(self._decided(stmt.condition), inside, after)
            w.enter(inside)
            self.statement(stmt.body)
            w.jump(head)
        w.enter(after)

    def _require(self, holds: str, code: str) -> None:
        """Go on if ``holds``, else return ``code``."""
        fine, broken = self.w.new_block(), self.w.new_block()
        self.w.branch(holds, fine, broken)
        self.w.enter(broken)
        self.w.do(f"ret i32 {code}")
        self.w.enter(fine)

    def _pass_on(self, code: str, added: int = 0) -> None:
        """Return a callee's ``code``, with ``added`` to it, unless it is 0."""
        other = self.w.emit(f"add i32 {code}, {added}") if added else code
        self._require(self.w.emit(f"icmp eq i32 {code}, 0"), other)

    def _call_kernel(self, stmt: ir.CallKernel) -> None:
        w = self.w
        arguments = [("ptr", self.pointer_of(buffer)) for buffer in stmt.buffers]
        arguments += [(register_type(s.dtype), self._evaluate(s)) for s in stmt.sizes]
        if stmt.workspace is not None:
            offset = self._evaluate(stmt.workspace)
            address = w.emit(f"getelementptr inbounds i8, ptr {self.workspace}, i64 {offset}")
            arguments += [("ptr", address), ("i64", self.values.value(ir.THREADS))]
        if stmt.profile_slot < 0:
            self._pass_on(w.call(stmt.symbol, "i32", arguments), stmt.messages_from)
            return
        wanted = w.emit("icmp ne ptr %profile, null")
        start = self._now(wanted)
        code = w.call(stmt.symbol, "i32", arguments)
        end = self._now(wanted)
        timed, on = w.new_block(), w.new_block()
        w.branch(wanted, timed, on)
        w.enter(timed)
        slot = w.emit(f"getelementptr inbounds i64, ptr %profile, i64 {stmt.profile_slot}")
        w.do(f"store i64 {w.emit(f'sub i64 {end}, {start}')}, ptr {slot}, align 8")
        w.jump(on)
        w.enter(on)
        self._pass_on(code, stmt.messages_from)

    def _now(self, wanted: str) -> str:
        """The clock, if it is ``wanted``, else 0."""
        w = self.w
        before, asking, after = w.block, w.new_block(), w.new_block()
        w.branch(wanted, asking, after)
        w.enter(asking)
        time = w.call(abi.NOW, "i64", [])
        w.jump(after)
        w.enter(after)
        return w.emit(f"phi i64 [ {time}, %{asking} ], [ 0, %{before} ]")
