"""A compiled model or function as a library: its code for each CPU level, and its C interface."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite.core import VERSION
from tvmlite.core.abi.signature import Signature
from tvmlite.core.errors import InputError
from tvmlite.machine import processor
from tvmlite.machine.cpu_checks import checks_of
from tvmlite.machine.target import Target, family
from tvmlite.model import cpu_levels
from tvmlite.model.cpu_levels import Level
from tvmlite.model.exportable import Function, Model
from tvmlite.model.kernels import legal_kernel
from tvmlite.relay.entry.buffer_placement import Constants
from tvmlite.runtime.library import interface, library, link
from tvmlite.runtime.pool import pool
from tvmlite.te.codegen import jit, library_header, process
from tvmlite.te.codegen.c import build as c_build
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.library_ir import LevelCode, LibraryTables, library_ir
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir as loop

RESERVED_NAME = "tvmlite"
"""The prefix of the thread pool's symbols, which no library may be named."""


@dataclass(frozen=True)
class Code:
    """The contents of a library: ``levels`` with their renamed ``entries``, and the ``signature`` for
    callers. ``constants`` are the weights of all levels; ``fields`` go into its metadata."""

    levels: Sequence[Level]
    entries: Sequence[loop.Function]
    signature: Signature
    input_names: Sequence[str]
    output_names: Sequence[str]
    constants: Constants
    fields: dict[str, Any]

    @property
    def target(self) -> Target:
        """The target of the lowest level."""
        return self.levels[0].target

    @property
    def has_interface(self) -> bool:
        """Whether it has the functions on DLPack arrays, which select a level; a machine without a system has
        none."""
        return self.target.kind == "c" or interface.is_for(self.target.triple)

    @property
    def data(self) -> tuple[str, np.ndarray] | None:
        """The symbol of the weights, and their bytes; None if there are none."""
        size = self.constants.size
        return (f"{self.signature.name}_constants", self.constants.blob()) if size else None

    @property
    def has_levels(self) -> bool:
        """Whether levels were requested."""
        return bool(self.levels[0].name)


def of_model(lib: Model) -> Code:
    """Return the code of a compiled model."""
    levels = lib.levels or [Level("", lib.target, lib.entry, lib.constants, tuple(lib.kernels))]
    entries, constants = cpu_levels.entries_of(levels), lib.constants
    if len(levels) > 1:
        constants, entries = cpu_levels.shared_constants(levels, entries)
    signatures = [cpu_levels.signature_with(one, constants.size) for one in entries]
    labels = max((one.kernel_labels for one in levels), key=len)  # the same as the signature's kernels
    return Code(
        levels,
        [cpu_levels.renamed(e, _symbol(e.name, one)) for e, one in zip(entries, levels, strict=True)],
        cpu_levels.common_signature(signatures),
        lib.metadata["input_names"],
        lib.metadata["output_names"],
        constants,
        {**lib.metadata, **({"kernel_labels": labels} if lib.levels else {})},
    )


def of_function(function: Function, legal: loop.Function) -> Code:
    """Return the code of a compiled schedule, whose legal form is ``legal``."""
    level = Level("", function.target, legal, Constants(), ())
    signature = cpu_levels.common_signature([function.signature])
    inputs = [p.name for p in signature.parameters if p.kind in ("input", "scalar")]
    outputs = [p.name for p in signature.outputs]
    entry = cpu_levels.renamed(legal, _symbol(legal.name, level))
    return Code([level], [entry], signature, inputs, outputs, Constants(), {})


def _symbol(name: str, level: Level) -> str:
    return f"{name}_on_{level.name}" if level.name else f"{name}_compiled"


def header(code: Code) -> str:
    """Return the header of the library."""
    return c.header(
        code.signature,
        library_header.declarations(code.signature, code.input_names, code.output_names),
    )


def metadata(code: Code) -> str:
    """Return the metadata that a library contains."""
    fields = code.fields | cpu_levels.described(code.signature, code.input_names, code.output_names)
    rows = []
    for level, entry in zip(code.levels, code.entries, strict=True):
        row: dict[str, Any] = {"name": level.name, "symbol": entry.name}
        if code.has_levels:
            row["target"] = level.target.with_cores
            row["features"] = sorted(level.target.instructions)
            row["entry"] = _signature(code, entry).to_json()
            row["kernel_labels"] = list(level.kernel_labels)
        rows.append(row)
    signature = code.signature if code.has_levels else _signature(code, code.entries[0])
    target = code.target
    return library.metadata(
        signature, target.with_cores, sorted(_instructions(target)), version=VERSION, levels=rows, **fields
    )


def _signature(code: Code, entry: loop.Function) -> Signature:
    """A level's own signature, under the library's name."""
    made = cpu_levels.signature_with(entry, code.signature.constants)
    return dataclasses.replace(made, name=code.signature.name)


def _instructions(target: Target) -> frozenset[str]:
    """The instruction sets that the code uses; C is compiled for this machine."""
    return target.instructions if target.kind == "llvm" else Target.parse("native").instructions


def write(code: Code, path: Path) -> None:
    """Write ``code`` as the library, static library or object ``path``."""
    check_name(code.signature.name)
    text, target = metadata(code), code.target
    data = code.data
    if target.kind == "c":
        baseline = _baseline(Target.parse("native").triple)
        objects = [_interface_object(baseline), _tables_object(code, text, baseline)]
        sources = [pool.source()]
        c_build.compile_shared(_c_source(code), path, sources, objects, data=data, metadata=text)
        return
    triple = target.triple
    objects, exports = _objects(code, text), exported(code)
    match path.suffix:
        case ".so":
            link.shared(objects, path, exports, triple, data, text)
        case ".dll" | ".dylib":
            link.shared(objects, path, exports, triple, data)
        case ".a":
            link.archive(objects, path, triple, data)
        case _:
            link.relocatable(objects, path, triple, data)


def exported(code: Code) -> list[str]:
    """Return the symbols that a shared library exports."""
    own = [one.name for one in process.with_shapes(code.entries)]
    name = code.signature.name
    shapes = [] if code.signature.is_static else [f"{name}_shapes"]
    return [name, *shapes, *own, *interface.symbols(code.signature), library.METADATA, *pool.SYMBOLS]


def check_name(name: str) -> None:
    """Check that a library can be named ``name``; else an InputError."""
    if name == RESERVED_NAME:
        raise InputError(
            f"a library cannot be called {name!r}, as its thread pool's symbols are",
            hint="name=... of compile",
        )


def _objects(code: Code, text: str) -> list[bytes]:
    """All objects of a library for an LLVM target."""
    baseline = _baseline(code.target.triple)
    made: list[bytes] = []
    for level, entry in zip(code.levels, code.entries, strict=True):
        made += [one.object for one in level.kernels]
        made += objects_of(process.with_shapes([entry]), level.target)
    made.append(process.pool_object(baseline))
    made += [_interface_object(baseline), _tables_object(code, text, baseline)]
    return made


def objects_of(functions: Sequence[loop.Function], target: Target) -> list[bytes]:
    """Compile an object for each of ``functions``."""
    return [jit.compile_object(llvm.generate(one, target), target) for one in functions]


def _baseline(triple: str) -> Target:
    """The baseline processor of an architecture, for code that runs before the processor is detected."""
    return Target.parse(f"llvm -mtriple={triple}")


def _interface_object(baseline: Target) -> bytes:
    """Compile the C interface for ``baseline``. Its IR has x86 instructions as assembly, which llvmlite reads
    only on such a machine; elsewhere there is a C compiler for the target, as there is a linker."""
    readable = family(baseline.triple) != "x86" or family(processor.host()[0]) == "x86"
    if interface.TEXT.has_llvm_ir(baseline.triple) and readable:
        return jit.compile_object(interface.TEXT.llvm_ir(baseline.triple), baseline)
    return link.compile_c(interface.TEXT.source, baseline.triple)


def _tables_object(code: Code, text: str, baseline: Target) -> bytes:
    levels = []
    for level, entry in zip(code.levels, code.entries, strict=True):
        target = level.target
        triple = target.triple or baseline.triple
        name = level.name or target.cpu or triple.split("-")[0]
        levels.append(
            LevelCode(name, entry.name, _signature(code, entry), checks_of(triple, _instructions(target)))
        )
    tables = LibraryTables(code.signature, code.input_names, code.output_names, text, levels, code.has_levels)
    return jit.compile_object(library_ir(tables), baseline)


def _c_source(code: Code) -> str:
    """The kernels and the entry as one C source."""
    level = code.levels[0]
    kernels = [legal_kernel(one.task, level.target) for one in level.kernels]
    return c.generate([*kernels, *process.with_shapes(code.entries)], level.target)
