"""Generation of one C function: its statements, and the outlined bodies of its parallel loops."""

from __future__ import annotations

from collections.abc import Callable

from tvmlite.core.abi import symbols
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.c import x86
from tvmlite.te.codegen.c.expr import Writer, strip
from tvmlite.te.codegen.c.names import (
    PARALLEL,
    WEIGHTS,
    Module,
    parameter_keys,
    reads_elsewhere,
)
from tvmlite.te.codegen.c.scope import Scope
from tvmlite.te.codegen.c.text import memory_type, work_type
from tvmlite.te.codegen.c.vector import CONDITION, VectorWriter, can_write, is_dense
from tvmlite.te.codegen.c.versions import merged
from tvmlite.te.loop import ir
from tvmlite.te.loop.ir import PREFETCHES


class FunctionWriter(Scope):
    """Writes ``function`` and its outlined parallel bodies to ``module.definitions``."""

    def __init__(self, function: ir.Function, module: Module) -> None:
        super().__init__(function, module)
        self._bodies = 0
        self._special = False  # inside a special statement, which has no form without vector types
        self._uses_parallel_for = False  # whether PARALLEL is used

    def write(self) -> None:
        """Generate the body, then add the function's definition to the module."""
        if self.function.counts_runs:
            self.module.used.add(symbols.NEXT_RUN)
            self._emit("static uint32_t runs;", f"{symbols.NEXT_RUN}(&runs);")
        self.statement(self.function.body)
        signature = self.module.signatures[self.function.name]
        keys = parameter_keys(self.function)
        own = self.module.standalone
        parameters, passed = [], []
        for key, parameter in zip(keys, signature.c_parameters, strict=True):
            if parameter.kind == "threads" and own is not None:
                continue
            restrict = "restrict " if parameter.kind in ("input", "output") else ""
            parameters.append(f"{parameter.c_type}{restrict}{self.names[key]}")
            passed.append(key)
        parallel = self.module.parallel_type
        parameters += [f"{parallel}{PARALLEL}"] if parallel else []
        unused = [f"    (void){PARALLEL};"] if parallel and not self._uses_parallel_for else []
        unused += [f"    (void){self.names[key]};" for key in passed if key not in self._read]
        head = self.module.head(self.function.name, parameters)
        end = ["    return 0;"] if self.module.returns(self.function.name) else []
        note = [] if own is None else own.comments.get(self.function.name, "").splitlines()
        self.module.definitions.append("\n".join([*note, head, *unused, *merged(self.lines), *end, "}"]))

    # -- statements

    def statement(self, stmt: ir.Stmt) -> None:
        """Write ``stmt`` as all of a block."""
        declared: list[tuple[int, object]] = []
        while isinstance(stmt, (ir.Let, ir.Allocate, ir.View)):
            key: object = stmt.var if isinstance(stmt, ir.Let) else stmt.buffer
            self._declare(stmt)
            declared.append((len(self.lines), key))
            stmt = stmt.body
        self._plain(stmt)
        for position, key in reversed(declared):
            if key not in self._read or self._is_only_stored(key):
                self.lines.insert(position, "    " * self.depth + f"(void){self.names[key]};")

    def _plain(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Seq(body):
                for one in body:
                    self._nested(one)
            case ir.Store():
                self._store(stmt)
            case ir.For(kind=ir.PARALLEL) if self._bound is None and self._is_divided(stmt):
                self._parallel(stmt)
            case ir.For():
                self._for(stmt, "", "")
            case ir.While(condition, body):
                self._while(condition, body)
            case ir.If():
                self._if(stmt)
            case ir.Choice():
                self._choice(stmt)
            case ir.Assert(condition, message):
                (text,) = self._texts(e.Not(condition))
                code = self.function.messages.index(message) + 1
                self._emit(f"if ({text}) {{", f"    return {code};", "}")
            case ir.Evaluate(value):
                self._evaluate(value)
            case ir.CallKernel():
                self._call(stmt)
            case _:
                raise AssertionError(f"{type(stmt).__name__} does not belong in legal loop IR")

    def _is_divided(self, loop: ir.For) -> bool:
        """Whether ``loop`` is divided among threads; in a standalone source, only if it has no Asserts."""
        own = self.module.standalone
        if own is None:
            return True
        return own.threads > 1 and not any(isinstance(node, ir.Assert) for node in postorder(loop.body))

    def _nested(self, stmt: ir.Stmt) -> None:
        """Write a statement among others, with its declarations in its own block."""
        if isinstance(stmt, ir.Seq):
            self.statement(stmt)
        else:
            self._in_braces(lambda: self.statement(stmt))

    def _declare(self, stmt: ir.Let | ir.Allocate | ir.View) -> None:
        if isinstance(stmt, ir.Let):
            self._let(stmt)
            return
        name, kind = self._bind(stmt.buffer), memory_type(stmt.buffer.dtype)
        if isinstance(stmt, ir.Allocate):
            count = 1
            for extent in stmt.buffer.shape:
                assert isinstance(extent, e.Const), "a legal allocation has a constant size"
                count *= int(extent.value)
            own = self.module.standalone
            if count == 1 and own is not None and own.scalar:
                self._variables.add(stmt.buffer)
                self._emit(f"{kind} {name};")
                return
            aligned = "TL_ALIGNED " if own is None or not own.scalar else ""
            self.module.used.update(aligned.split())
            self._emit(f"{kind} {aligned}{name}[{max(count, 1)}];")
            return
        (offset,) = self._texts(stmt.offset)
        if stmt.buffer.scope == "constant" and self.module.standalone is not None:
            self._standalone_constant(stmt, name, offset)
        elif stmt.buffer.scope == "constant":
            blob = self.function.constants_symbol
            self.module.declarations[f"extern const unsigned char {blob}[];"] = None
            self._emit(f"const {kind} *const {name} = (const {kind} *)(const void *)({blob} + ({offset}));")
        else:
            base = f"(unsigned char *){self._name('workspace')}"
            self._emit(f"{kind} *const {name} = ({kind} *)(void *)({base} + ({offset}));")

    def _standalone_constant(self, view: ir.View, name: str, offset: str) -> None:
        """Bind a constant to the name of its array, or to its address in the blob that the caller passes."""
        own = self.module.standalone
        assert own is not None, "only a standalone source has arrays of its own"
        assert isinstance(view.offset, e.Const), "constants lie at fixed places"
        self._read.add(view.buffer)
        kind = memory_type(view.buffer.dtype)
        if not own.passes_weights:
            self.names[view.buffer] = f"(const {kind} *){own.weights[int(view.offset.value)]}"
            return
        block = f"(const unsigned char *){WEIGHTS}"
        self._emit(f"const {kind} *const {name} = (const {kind} *)(const void *)({block} + ({offset}));")

    def _let(self, let: ir.Let) -> None:
        kind = work_type(let.var.dtype)
        if let.var.lanes == 1:
            writer = Writer(self)
            text = writer.write(let.value)
            self._emit(*writer.lines)
            if writer.is_nonnegative(let.value):
                self._nonnegatives.add(let.var)
            if writer.is_counter(let.value) and let.var.dtype == e.INDEX:
                self._counters.add(let.var)
                kind = self.index_type
            self._emit(f"const {kind} {self._bind(let.var)} = {strip(text)};")
            return
        name = self._bind(let.var)
        self._emit(f"{kind} {name}[{let.var.lanes}];")

        def lanes() -> None:
            self._emit_lanes(let.value, [], lambda w, text: f"{name}[{w.lane}] = {strip(text)};")

        def write() -> None:
            if not can_write(let.value):
                lanes()
                return
            writer = VectorWriter(self, let.value.dtype, let.value.lanes)
            text = strip(writer.write(let.value))
            self._with_vectors(writer, f"*({writer.type} *)(void *){name} = {text};", lanes)

        self._in_braces(write)

    def _store(self, store: ir.Store) -> None:
        buffer, value, index = store.buffer, store.value, store.indices[0]
        if value.lanes == 1:
            writer = Writer(self)
            place, text = strip(writer.write(index)), writer.write(value)
            guard = "" if store.predicate is None else f"if ({strip(writer.write(store.predicate))}) "
            self._emit(*writer.lines)
            element = self.element(buffer, place)
            self._emit(f"{guard}{element} = {writer.to_memory(text, buffer.dtype)};")
            return
        if store.predicate is None and is_dense(index) and can_write(value):
            writer = VectorWriter(self, value.dtype, value.lanes)
            text = strip(writer.write(value))
            line = f"{writer.place(buffer, index)} = {text};"
            if self._special:
                self._emit_vectors(writer, line)
            else:
                self._with_vectors(writer, line, lambda: self._store_lanes(store))
        else:
            self._store_lanes(store)

    def _choice(self, choice: ir.Choice) -> None:
        """Write the special statement, for its instruction sets and vector types, and the portable one."""
        if not _has_form(choice):
            self._plain(choice.portable)
            return
        asked = f"{CONDITION} && {x86.condition(choice.needs)}"
        self.module.intrinsics[asked] = None
        self.lines.append(f"#if {asked}")
        self._special = True
        self._in_braces(lambda: self.statement(choice.special))
        self._special = False
        self.lines.append("#else")
        self._in_braces(lambda: self.statement(choice.portable))
        self.lines.append("#endif")

    def _emit_vectors(self, writer: VectorWriter, line: str) -> None:
        self.module.typedefs.update(dict.fromkeys(writer.typedefs))
        self.module.intrinsics.update(dict.fromkeys(f"{CONDITION} && {one}" for one in writer.includes))
        self._emit(*writer.lines, line)

    def _with_vectors(self, writer: VectorWriter, line: str, otherwise: Callable[[], object]) -> None:
        """Emit ``line`` under ``#if`` of the vector types, and the lines of ``otherwise`` under ``#else``."""
        self.lines.append(f"#if {CONDITION}")
        self._emit_vectors(writer, line)
        self.lines.append("#else")
        otherwise()
        self.lines.append("#endif")

    def _store_lanes(self, store: ir.Store) -> None:
        buffer, value, index = store.buffer, store.value, store.indices[0]
        target = self.buffer(buffer)
        if reads_elsewhere(value, buffer, index):  # all lanes have to be read before any is written
            values = self.temporary()
            self._emit(f"{work_type(buffer.dtype)} {values}[{value.lanes}];")
            self._in_braces(
                lambda: self._emit_lanes(value, [], lambda w, t: f"{values}[{w.lane}] = {strip(t)};")
            )
            copied = e.Var(values, buffer.dtype, value.lanes)
            self.names[copied] = values
            self._bind(copied)
            value = copied
        extra = [index] if store.predicate is None else [index, store.predicate]

        def one(writer: Writer, text: str, place: str, predicate: str = "") -> str:
            guard = f"if ({strip(predicate)}) " if predicate else ""
            return f"{guard}{target}[{strip(place)}] = {writer.to_memory(text, buffer.dtype)};"

        self._emit_lanes(value, extra, one)

    def _emit_lanes(self, value: e.Expr, extra: list[e.Expr], line: Callable[..., str]) -> None:
        """Emit a loop over lanes around ``line(writer, text of value, *texts of extra)``."""
        outer = Writer(self)
        inner = Writer(self, self.temporary(), outer)
        texts = [inner.write(x) for x in (value, *extra)]
        self._emit(*outer.lines)
        lane = inner.lane
        self._emit(f"for ({self.index_type} {lane} = 0; {lane} < {value.lanes}; ++{lane}) {{")
        self.depth += 1
        self._emit(*inner.lines)
        self._emit(line(inner, *texts))
        self.depth -= 1
        self._emit("}")

    def _for(self, loop: ir.For, begin: str, end: str) -> None:
        """Emit the loop, or its part ``begin .. end - 1`` (counted from its min) if given."""
        writer = Writer(self)
        least, stop = writer.write_short(loop.min), e.fold(e.Add, loop.min, loop.extent)
        if not begin:
            begin, end = least, writer.write_short(stop)
        elif not e.is_const(loop.min, 0):
            begin, end = f"{least} + {begin}", f"{least} + {end}"
        nonnegative = writer.is_nonnegative(loop.min)
        self._emit(*writer.lines)
        name = self._bind(loop.var)
        self._counters.add(loop.var)
        if nonnegative:
            self._nonnegatives.add(loop.var)
        if loop.kind == ir.UNROLL:
            self.module.used.add("TL_UNROLL")
            self._emit(f"TL_UNROLL({int(loop.extent.value)})")  # type: ignore[attr-defined]
        if self.index_type != "int64_t":
            begin, end = (
                self._as_index_type(writer, one, text) for one, text in ((loop.min, begin), (stop, end))
            )
        self._emit(f"for ({self.index_type} {name} = {begin}; {name} < {end}; ++{name}) {{")
        self._indented(loop.body)
        self._emit("}")

    def _as_index_type(self, writer: Writer, bound: e.Expr, text: str) -> str:
        """A loop bound in the type of the loop variable, as data-dependent extents are 64 bits wide."""
        return text if writer.is_counter(bound) else f"({self.index_type})({text})"

    def _while(self, condition: e.Expr, body: ir.Stmt) -> None:
        self._emit("for (;;) {")
        self.depth += 1
        (text,) = self._texts(e.Not(condition))
        self._emit(f"if ({text}) {{", "    break;", "}")
        self._nested(body)
        self.depth -= 1
        self._emit("}")

    def _if(self, stmt: ir.If) -> None:
        (text,) = self._texts(stmt.condition)
        self._emit(f"if ({text}) {{")
        self._indented(stmt.then)
        if stmt.otherwise is not None:
            self._emit("} else {")
            self._indented(stmt.otherwise)
        self._emit("}")

    def _indented(self, stmt: ir.Stmt) -> None:
        self.depth += 1
        self.statement(stmt)
        self.depth -= 1

    def _evaluate(self, value: e.Expr) -> None:
        writer, own = Writer(self), self.module.standalone
        if isinstance(value, e.Call) and value.name in PREFETCHES:
            if own is not None and own.scalar:
                return  # flash has uniform latency, and the address may be beyond the end of an array
            load: object = value.args[0]
            assert isinstance(load, ir.Load), "a prefetch is of a load"
            (index,) = load.indices
            place = strip(writer.write(index.base if isinstance(index, e.Ramp) else index))
            self.module.used.add("TL_PREFETCH")
            text = f"TL_PREFETCH(&{self.buffer(load.buffer)}[{place}], {PREFETCHES[value.name]});"
        elif value.lanes > 1:
            return  # a value has no effect
        else:
            text = f"(void){writer.write(value)};"
        self._emit(*writer.lines, text)

    # -- parallel loops

    def _parallel(self, loop: ir.For) -> None:
        name = f"{self.function.name}_body{self._bodies}"
        self._bodies += 1
        lines, depth = self.lines, self.depth
        self.lines, self.depth, self._bound, self._captured = [], 1, set(), {}
        self._for(loop, "begin", "end")
        body, captured = self.lines, list(self._captured)
        self.lines, self.depth, self._bound = lines, depth, None
        self._define_body(name, body, captured)
        shared_out = symbols.SWEEP if loop.alternates_direction else symbols.PARALLEL_FOR
        if self.module.standalone is None:
            self.module.used.add(shared_out)

        (extent,) = self._texts(loop.extent)
        if captured:
            self._emit(f"struct {name} closure;")
        self._emit(*(f"closure.{self._name(key)} = {self.names[key]};" for key in captured))
        given = "&closure" if captured else "0"
        if self.module.standalone is not None:
            self._uses_parallel_for = True
            whole = f"{name}_run({given}, 0, {extent}, 0);"
            call = f"{PARALLEL}->parallel_for({PARALLEL}->context, {name}_run, {given}, {extent});"
            self._emit(f"if ({PARALLEL} == 0) {{", f"    {whole}", "} else {", f"    {call}", "}")
            return
        self._emit(f"const int32_t code = {shared_out}({name}_run, {given}, {extent});")
        self._emit("if (code != 0) {", "    return code;", "}")

    def _define_body(self, name: str, body: list[str], captured: list[object]) -> None:
        fields = [f"    {self._field(key)}{self.names[key]};" for key in captured]
        struct = [f"struct {name} {{", *fields, "};\n"] if captured else []
        own, count = self.module.standalone, "int64_t"
        kind, end = "int32_t", ["    return 0;"]
        if own is not None:
            count, kind, end = "int32_t", "void", []
        head = f"static {kind} {name}_run(void *closure, {count} begin, {count} end, {count} thread) {{"
        unpack = [f"    const struct {name} *const given = closure;"] if captured else ["    (void)closure;"]
        for key in captured:
            restrict = isinstance(key, ir.Buffer) and key.scope == "param"
            kind = self._field(key).rstrip()
            if restrict or kind.endswith("*"):
                kind += "restrict " if restrict else "const "
            else:
                kind = f"const {kind} "
            unpack.append(f"    {kind}{self.names[key]} = given->{self.names[key]};")
        lines = [*struct, head, *unpack, "    (void)thread;", *merged(body), *end, "}"]
        self.module.definitions.append("\n".join(lines))

    def _field(self, key: object) -> str:
        """The type of a captured variable, to be followed by its name."""
        if isinstance(key, ir.Buffer):
            constant = key.scope == "constant" or (key.scope == "param" and key not in self.function.outputs)
            return f"{'const ' if constant else ''}{memory_type(key.dtype)} *"
        if key == "workspace":
            return "void *"
        assert isinstance(key, e.Var)
        if key.lanes > 1:
            return f"const {work_type(key.dtype)} *"
        return f"{memory_type(key.dtype) if key in self.function.params else work_type(key.dtype)} "

    # -- kernels

    def _call(self, call: ir.CallKernel) -> None:
        given = call.sizes if call.workspace is None else (*call.sizes, call.workspace)
        own = self.module.standalone
        if own is not None and call.profile_slot < len(own.calls):
            self._emit(own.calls[call.profile_slot])
        args = [self.buffer(b) for b in call.buffers] + self._texts(*given)
        if call.workspace is not None:
            args[-1] = f"(unsigned char *){self._name('workspace')} + ({args[-1]})"
            args += [] if own is not None else [self.variable(ir.THREADS)]
        if self.module.parallel_type:
            self._uses_parallel_for = True
            args.append(PARALLEL)
        if not self.module.returns(call.symbol):
            self._emit(f"{call.symbol}({', '.join(args)});")
            return
        if call.symbol not in self.module.signatures:
            self.module.declarations[self._declaration(call)] = None
        offset_code = f" + {call.messages_from}" if call.messages_from else ""
        profile = self._name("profile") if call.profile_slot >= 0 and self.function.kernels else ""
        if profile:
            self.module.used.add(symbols.NOW)
            self._emit(f"const int64_t start = {profile} ? {symbols.NOW}() : 0;")
        self._emit(f"const int32_t code = {call.symbol}({', '.join(args)});")
        if profile:
            self._emit(
                f"if ({profile}) {{", f"    {profile}[{call.profile_slot}] = {symbols.NOW}() - start;", "}"
            )
        self._emit("if (code != 0) {", f"    return code{offset_code};", "}")

    def _declaration(self, call: ir.CallKernel) -> str:
        """The prototype of a kernel defined elsewhere; the caller's inputs and constants are const."""
        types = [self._field(buffer) for buffer in call.buffers]
        types += [memory_type(size.dtype) for size in call.sizes]
        types += ["void *", "int64_t"] if call.workspace is not None else []
        return f"int32_t {call.symbol}({', '.join(types) or 'void'});"


def _has_form(choice: ir.Choice) -> bool:
    """Whether the special statement consists only of vector stores that have a form in C."""
    stores = choice.special.body if isinstance(choice.special, ir.Seq) else (choice.special,)
    names = [n.name for n in postorder(choice.special) if isinstance(n, e.Foreign) and n.kind != "bits"]
    return x86.has_form(choice.needs, names) and all(
        isinstance(s, ir.Store) and s.predicate is None and is_dense(s.indices[0]) and can_write(s.value)
        for s in stores
    )
