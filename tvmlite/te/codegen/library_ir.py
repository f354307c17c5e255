"""The LLVM IR of a library besides its model's code: the C interface and the dispatch to a CPU level.

The tables have the layout of the structures of ``runtime/library/interface.c``, which reads them. Every
exported function is a short wrapper around one of that file, or around the code of the selected CPU level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import TOO_SMALL, Parameter, Signature
from tvmlite.core.abi.symbols import WORKSPACE_ALIGNMENT
from tvmlite.machine.cpu_checks import CpuCheck
from tvmlite.runtime import dlpack
from tvmlite.runtime.library.library import METADATA

_ARRAY, _SCALAR, _FOUND = range(3)
_COMPUTED, _FIRST_SIZE = -1, -2
"""Codes for computed extents and for extents equal to a size, as in ``interface.c``."""

_LLVM_TYPES = {"float32": "float", "float64": "double"}


@dataclass(frozen=True)
class LevelCode:
    """The code of one CPU level: the entry at ``symbol`` with its ``signature``, and the ``checks`` of the
    processor before it runs. Its ``name`` is ``cpu`` if the library has no other level."""

    name: str
    symbol: str
    signature: Signature
    checks: tuple[CpuCheck, ...]


@dataclass(frozen=True)
class LibraryTables:
    """A library's model: its ``signature``, as callers see it, the model's names of its arrays, its metadata,
    and its code, levels in ascending order. ``has_levels``: whether the user named the levels."""

    signature: Signature
    input_names: Sequence[str]
    output_names: Sequence[str]
    metadata: str
    levels: Sequence[LevelCode]
    has_levels: bool = False


def library_ir(tables: LibraryTables) -> str:
    """A module with the tables and the exported functions of a library."""
    return _Module(tables).text()


class _Module:
    """The text under construction: globals, then functions."""

    def __init__(self, tables: LibraryTables) -> None:
        self.tables, self.signature = tables, tables.signature
        self.lines: list[str] = []
        self._strings: dict[str, str] = {}
        self.inputs = [p for p in self.signature.parameters if p.kind in ("input", "scalar")]
        self.outputs = list(self.signature.outputs)
        self.sizes = [p.name for p in self.signature.shape_sizes]
        self._first: dict[str, int] = {}
        place = 0
        for array in self.signature.arrays:
            self._first[array.name] = place
            place += len(array.shape)
        self.extents = place + 1

    def text(self) -> str:
        """The whole module."""
        self._metadata()
        self._library()
        for k, level in enumerate(self.tables.levels):
            self._call_of(k, level)
            self._shapes_of(k, level)
        self._entry()
        if not self.signature.is_static:
            self._shapes()
        self.lines.extend(self._interface())
        return "\n".join([*self.lines, *_DECLARED, ""])

    # --- tables ---

    def _metadata(self) -> None:
        kind, data = _bytes(self.tables.metadata)
        self.lines.append(f"@metadata = internal constant {kind} {data}, align {WORKSPACE_ALIGNMENT}")
        self.lines.append(f"@{METADATA} = weak alias {kind}, ptr @metadata")

    def string(self, text: str) -> str:
        """A pointer to ``text``, terminated by a zero byte."""
        if text not in self._strings:
            name = f"@text.{len(self._strings)}"
            kind, data = _bytes(text)
            self._strings[text] = name
            self.lines.append(f"{name} = internal constant {kind} {data}")
        return f"ptr {self._strings[text]}"

    def table(self, name: str, kind: str, rows: Sequence[str]) -> str:
        """A pointer to an array of ``rows`` of type ``kind``; null if there are none."""
        if not rows:
            return "ptr null"
        self.lines.append(f"@{name} = internal constant [{len(rows)} x {kind}] [{', '.join(rows)}]")
        return f"ptr @{name}"

    def _library(self) -> None:
        tables, signature = self.tables, self.signature
        messages = [self.string(one) for one in signature.messages]
        messages += [self.string(one) for one in self.sizes]  # after the messages, as interface.c expects
        too_small = signature.messages.index(TOO_SMALL) + 1 if TOO_SMALL in signature.messages else 0
        self.lines.append("@chosen = internal global i32 0")
        fields = [
            self.string(signature.name),
            self._arrays("inputs", self.inputs, tables.input_names),
            self._arrays("outputs", self.outputs, tables.output_names),
            self.table("levels", _LEVEL, [self._level(k, one) for k, one in enumerate(tables.levels)]),
            self.table("messages", "ptr", messages),
            "ptr @chosen",
            *_ints(len(self.inputs), len(self.outputs), len(self.sizes), len(tables.levels)),
            *_ints(len(signature.messages), self.extents),
            *_ints(signature.dynamic_outputs_length if signature.of_kind("dynamic_outputs") else 0),
            *_ints(too_small, int(tables.has_levels)),
        ]
        self.lines.append(f"@library = internal constant {_LIBRARY} {{ {', '.join(fields)} }}")

    def _arrays(self, name: str, parameters: Sequence[Parameter], names: Sequence[str]) -> str:
        rows = [self._array(f"{name}.{k}", p, names[k]) for k, p in enumerate(parameters)]
        return self.table(name, _ARRAY_TYPE, rows)

    def _array(self, label: str, parameter: Parameter, name: str) -> str:
        kind = {"scalar": _SCALAR, "found": _FOUND}.get(parameter.kind, _ARRAY)
        code, bits = dlpack.code_of(parameter.dtype)
        shared = [k for k, p in enumerate(self.inputs) if parameter.in_place and p.name == parameter.in_place]
        is_size = kind == _SCALAR and parameter.name in self.sizes
        fields = [
            self.string(name),
            self.string(parameter.dtype),
            self.table(label, "i64", [f"i64 {self._extent(d)}" for d in parameter.shape]),
            *_ints(len(parameter.shape), code, bits, dtypes.bytes_of(parameter.dtype), kind),
            *_ints(shared[0] if shared else -1, self._first.get(parameter.name, -1)),
            *_ints(self.sizes.index(parameter.name) if is_size else -1),
        ]
        return f"{_ARRAY_TYPE} {{ {', '.join(fields)} }}"

    def _extent(self, extent: int | str | None) -> int:
        if extent is None or (isinstance(extent, str) and extent not in self.sizes):
            return _COMPUTED
        return extent if isinstance(extent, int) else _FIRST_SIZE - self.sizes.index(extent)

    def _level(self, k: int, level: LevelCode) -> str:
        features = [
            f"{_FEATURE} {{ {self.string(c.name)}, "
            f"{', '.join(_ints(c.leaf, c.subleaf, c.part, c.bit, c.state, int(c.tiles)))} }}"
            for c in level.checks
        ]
        own = level.signature.messages
        codes = [self.signature.messages.index(one) + 1 for one in own]
        differ = codes != list(range(1, len(own) + 1))
        workspace = level.signature.workspace
        fields = [
            self.string(level.name),
            self.table(f"features.{k}", _FEATURE, features),
            f"ptr @call.{k}",
            "ptr null" if level.signature.is_static else f"ptr @shapes.{k}",
            self.table(f"codes.{k}", "i32", _ints(*codes)) if differ else "ptr null",
            f"i64 {-1 if workspace is None else workspace}",
            *_ints(len(features), len(codes)),
        ]
        return f"{_LEVEL} {{ {', '.join(fields)} }}"

    # --- the code of a level ---

    def _call_of(self, k: int, level: LevelCode) -> None:
        """Add a function that takes arrays and sizes in tables, and calls the level's entry."""
        places = {p.name: i for i, p in enumerate(self.inputs)}
        places |= {p.name: len(self.inputs) + i for i, p in enumerate(self.outputs)}
        body, given = [], []
        for number, p in enumerate(level.signature.c_parameters):
            match p.kind:
                case "input" | "output" | "scalar":
                    body.append(f"  %at.{number} = getelementptr ptr, ptr %arrays, i64 {places[p.name]}")
                    body.append(f"  %array.{number} = load ptr, ptr %at.{number}")
                    if p.kind == "scalar":
                        kind = _type(p)
                        body.append(f"  %value.{number} = load {kind}, ptr %array.{number}")
                        given.append(f"{kind} %value.{number}")
                    else:
                        given.append(f"ptr %array.{number}")
                case "size":
                    body += _load_size(f"%value.{number}", self.sizes.index(p.name))
                    given.append(f"i64 %value.{number}")
                case "profile":
                    given.append("ptr null")
                case _:
                    given.append(f"{_type(p)} %{p.kind}")
        self.lines.append(
            f"declare i32 @{level.symbol}({', '.join(map(_type, level.signature.c_parameters))})"
        )
        self.lines.append(
            f"define internal i32 @call.{k}(ptr %arrays, ptr %sizes, ptr %workspace, i64 %threads, "
            f"ptr %dynamic_outputs, i64 %capacity) {{"
        )
        self.lines += [
            *body,
            f"  %code = call i32 @{level.symbol}({', '.join(given)})",
            "  ret i32 %code",
            "}",
        ]

    def _shapes_of(self, k: int, level: LevelCode) -> None:
        """Add a function that calls the level's ``NAME_shapes``, or, for a static level, stores constants."""
        if level.signature.is_static and self.signature.is_static:
            return
        body, given = [], ["ptr %out", "i64 %threads"]
        head = f"define internal i32 @shapes.{k}(ptr %out, i64 %threads, ptr %sizes) {{"
        if level.signature.is_static:
            known = [d for p in level.signature.arrays for d in p.shape]
            for number, value in enumerate([*known, level.signature.workspace]):
                body.append(f"  %out.{number} = getelementptr i64, ptr %out, i64 {number}")
                body.append(f"  store i64 {value}, ptr %out.{number}")
            self.lines += [head, *body, "  ret i32 0", "}"]
            return
        for number in range(len(self.sizes)):
            body += _load_size(f"%value.{number}", number)
            given.append(f"i64 %value.{number}")
        types = ", ".join(["ptr", "i64", *["i64"] * len(self.sizes)])
        self.lines.append(f"declare i32 @{level.symbol}_shapes({types})")
        call = f"  %code = call i32 @{level.symbol}_shapes({', '.join(given)})"
        self.lines += [head, *body, call, "  ret i32 %code", "}"]

    # --- exported functions ---

    def _entry(self) -> None:
        """Add ``NAME``, which calls the entry of the selected level."""
        passed = self.signature.c_parameters
        given = ", ".join(f"{_type(p)} %a{number}" for number, p in enumerate(passed))
        self.lines.append(f"define i32 @{self.signature.name}({given}) {{")
        self._dispatch([f"@{level.symbol}({given})" for level in self.tables.levels])

    def _shapes(self) -> None:
        """Add ``NAME_shapes``, which calls that of the selected level."""
        count = len(self.sizes)
        given = ", ".join(["ptr %out", "i64 %threads", *(f"i64 %size.{k}" for k in range(count))])
        self.lines.append(f"define i32 @{self.signature.name}_shapes({given}) {{")
        self.lines.append(f"  %sizes = alloca [{max(count, 1)} x i64]")
        for k in range(count):
            self.lines.append(f"  %place.{k} = getelementptr i64, ptr %sizes, i64 {k}")
            self.lines.append(f"  store i64 %size.{k}, ptr %place.{k}")
        levels = range(len(self.tables.levels))
        self._dispatch([f"@shapes.{k}(ptr %out, i64 %threads, ptr %sizes)" for k in levels])

    def _dispatch(self, calls: Sequence[str]) -> None:
        """Add the rest of a function that returns the result of the selected level's call in ``calls``."""
        lines = self.lines
        cases = " ".join(f"i32 {k}, label %level.{k}" for k in range(len(calls)))
        lines.append("  %level = call i32 @tvmlite_library_level(ptr @library)")
        lines.append(f"  switch i32 %level, label %none [ {cases} ]")
        for k, call in enumerate(calls):
            lines += [f"level.{k}:", f"  %code.{k} = call i32 {call}"]
            lines.append(f"  %own.{k} = call i32 @tvmlite_library_code(ptr @library, i32 {k}, i32 %code.{k})")
            lines.append(f"  ret i32 %own.{k}")
        lines += ["none:", f"  ret i32 {len(self.signature.messages)}", "}"]

    def _interface(self) -> Iterator[str]:
        name = self.signature.name
        run = "ptr %inputs, i32 %num_inputs, ptr %outputs, i32 %num_outputs"
        yield _forward("i32", f"{name}_run_tensors", run, "run")
        yield _forward("i32", f"{name}_run_tensors_in", f"{run}, ptr %workspace, ptr %bytes", "run_in")
        yield _forward("i64", f"{name}_workspace_bytes", "ptr %inputs, i32 %num_inputs", "workspace")
        yield _forward("ptr", f"{name}_cpu_level", "", "level_name")
        yield f"define ptr @{name}_metadata() {{\n  ret ptr @metadata\n}}"
        yield f"define ptr @{name}_last_error() {{"
        yield "  %text = call ptr @tvmlite_library_error()\n  ret ptr %text\n}"
        yield f"define void @{name}_set_num_threads(i32 %threads) {{"
        yield "  call void @tvmlite_library_set_threads(i32 %threads)\n  ret void\n}"
        yield f"define i32 @{name}_num_threads() {{"
        yield "  %threads = call i32 @tvmlite_get_num_threads()\n  ret i32 %threads\n}"


_FEATURE = "{ ptr, i32, i32, i32, i32, i32, i32 }"
_LEVEL = "{ ptr, ptr, ptr, ptr, ptr, i64, i32, i32 }"
_ARRAY_TYPE = "{ ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32 }"
_LIBRARY = "{ ptr, ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32, i32 }"

_DECLARED = (
    "declare hidden i32 @tvmlite_library_level(ptr)",
    "declare hidden i32 @tvmlite_library_code(ptr, i32, i32)",
    "declare hidden i32 @tvmlite_library_run(ptr, ptr, i32, ptr, i32)",
    "declare hidden i32 @tvmlite_library_run_in(ptr, ptr, i32, ptr, i32, ptr, ptr)",
    "declare hidden i64 @tvmlite_library_workspace(ptr, ptr, i32)",
    "declare hidden ptr @tvmlite_library_level_name(ptr)",
    "declare hidden ptr @tvmlite_library_error()",
    "declare hidden void @tvmlite_library_set_threads(i32)",
    "declare i32 @tvmlite_get_num_threads()",
)


def _forward(result: str, name: str, parameters: str, function: str) -> str:
    """An exported function that passes the library and its own parameters on to ``function``."""
    given = ", ".join(["ptr @library", *([parameters] if parameters else [])])
    call = f"  %made = call {result} @tvmlite_library_{function}({given})"
    return f"define {result} @{name}({parameters}) {{\n{call}\n  ret {result} %made\n}}"


def _load_size(value: str, number: int) -> list[str]:
    place = f"{value}.place"
    return [f"  {place} = getelementptr i64, ptr %sizes, i64 {number}", f"  {value} = load i64, ptr {place}"]


def _type(parameter: Parameter) -> str:
    """The LLVM type of a parameter."""
    if parameter.kind == "scalar":
        return _LLVM_TYPES.get(parameter.dtype) or f"i{dtypes.bits(parameter.dtype)}"
    return "ptr" if parameter.c_type.endswith("*") else "i64"


def _ints(*values: int) -> list[str]:
    return [f"i32 {value}" for value in values]


def _bytes(text: str) -> tuple[str, str]:
    """The type and the value of ``text`` in UTF-8, terminated by a zero byte."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f"[{len(data)} x i8]", f'c"{escaped}"'


def metadata_ir(text: str) -> str:
    """A module that defines ``METADATA`` as ``text`` in UTF-8, terminated by a zero byte."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f'@{METADATA} = constant [{len(data)} x i8] c"{escaped}", align {WORKSPACE_ALIGNMENT}\n'
