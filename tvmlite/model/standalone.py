"""Writes a model as C for machines without a system: source, header, a self-test, and test cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import Signature
from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.model import code_size, self_test
from tvmlite.model.exportable import Model
from tvmlite.model.kernels import legal_kernel
from tvmlite.relay.ir.nodes import Constant
from tvmlite.runtime.library import link
from tvmlite.te import expr as e
from tvmlite.te.codegen.c import standalone as c
from tvmlite.te.codegen.c.generator import comment
from tvmlite.te.codegen.c.text import memory_type, unsigned_type
from tvmlite.te.loop import ir as loop

IN_SOURCE, IN_FILE = "source", "file"
"""The place of the weights: in the C source, or in a separate file that the program maps or links."""


WriteFile: TypeAlias = Callable[[Path, "str | bytes | Iterable[str]"], None]
"""Write a file, complete or not at all."""


def write(lib: Model, path: Path, weights: str, write_file: WriteFile, most: int | None = None) -> None:
    """Write ``NAME.c`` and ``NAME.h``, and their tests.

    ``NAME_test.c`` is a program that returns 0 if the model computes what the interpreter does;
    ``manifest.json`` and ``NAME_cases.npz`` are the same for other tests. With ``weights`` "file" the weights
    are in ``NAME.bin``, little-endian, and there are no tests. For a path that ends in ``.h`` only the header
    is written. The fastest code of at most ``most`` bytes (``code_size``) is chosen; an UnsupportedError has
    the least size.
    """
    own = signature(lib, weights)
    header = c.header(own, lib.target.alignment, lib.target.num_cores)
    write_file(path.with_suffix(".h"), header)
    if path.suffix == ".h":
        return
    calls = [str(one) for one in lib.metadata["kernel_labels"]]
    arrays = _weights(lib, calls)
    kernels = [legal_kernel(one.task, lib.target) for one in lib.kernels]

    def source(plain: bool) -> Iterator[str]:
        return c.source(
            kernels, lib.entry, lib.target, path.with_suffix(".h").name, arrays,
            _comments(lib, calls), [comment([one]) for one in calls], weights == IN_FILE, plain,
        )  # fmt: skip

    write_file(
        path, source(most is not None and _is_plain(lib, path.with_suffix(".h").name, header, source, most))
    )
    if weights == IN_FILE:
        write_file(path.with_suffix(".bin"), lib.constants.blob().tobytes())
        return
    found, name = self_test.cases(lib.module.main), path.with_suffix(".h").name
    rtol = self_test.tolerance(found)
    write_file(path.with_name(f"{path.stem}_test.c"), self_test.program(own, name, found, rtol))
    write_file(path.with_name(f"{path.stem}_cases.npz"), self_test.cases_file(found))
    write_file(path.with_name("manifest.json"), manifest(own, name, f"{path.stem}_cases.npz", rtol))


def _is_plain(
    lib: Model, header: str, declared: str, source: Callable[[bool], Iterable[str]], most: int
) -> bool:
    """Whether code for particular processors is omitted to keep the code within ``most`` bytes."""
    name, sizes = lib.entry.name, []
    with link.temporary_folder("tvmlite-size-") as folder:
        (folder / header).write_text(declared)
        for plain in (False, True):
            file = folder / f"{name}.c"
            file.write_text("".join(source(plain)))
            sizes.append(code_size.code_size(file, lib.target))
    return code_size.require(sizes, most, name) == 1


def signature(lib: Model, weights: str) -> Signature:
    """Return the signature of the model; an UnsupportedError if it needs a system."""
    if weights not in (IN_SOURCE, IN_FILE):
        raise InputError(f"export: weights is {weights!r}, expected {IN_SOURCE!r} or {IN_FILE!r}")
    return c.own_signature(lib.entry, lib.constants.size if weights == IN_FILE else 0)


def _weights(lib: Model, calls: Sequence[str]) -> list[c.Weight]:
    """The constants, in the order of their offsets, each with its first reader."""
    places = {n.buffer: n.offset for n in postorder(lib.entry.body) if isinstance(n, loop.View)}
    reader: dict[int, str] = {}
    for call in _in_order(lib.entry):
        for buffer in call.buffers:
            offset = places.get(buffer)
            if buffer.scope == "constant" and isinstance(offset, e.Const):
                reader.setdefault(int(offset.value), calls[call.profile_slot])
    blob, made = lib.constants.blob(), []
    for number, (constant, offset) in enumerate(lib.constants.offsets.items()):
        dtype = dtypes.check(constant.dtype)
        raw = blob[offset : offset + constant.nbytes].view(_in_memory(constant, dtype))
        shape = "x".join(map(str, constant.shape)) or "scalar"
        about = f"{dtype} {shape}, of {reader[offset]}" if offset in reader else f"{dtype} {shape}"
        made.append(c.Weight(f"{lib.entry.name}_weight{number}", offset, about, dtype, raw))
    return made


def _in_memory(constant: Constant, dtype: str) -> np.dtype:
    """The dtype with which numbers are written: their own if C has it, otherwise that of their bits."""
    kind = constant.dtype
    return kind if memory_type(dtype) != unsigned_type(dtype) else np.dtype(f"u{kind.itemsize}")


def _in_order(entry: loop.Function) -> list[loop.CallKernel]:
    """The calls of kernels, first to last."""
    calls = [node for node in postorder(entry.body) if isinstance(node, loop.CallKernel)]
    return sorted(calls, key=lambda call: call.profile_slot)


def _comments(lib: Model, calls: Sequence[str]) -> dict[str, str]:
    """The comment above each kernel: what it computes, and for which nodes."""
    uses: dict[str, list[str]] = {}
    for call in _in_order(lib.entry):
        uses.setdefault(call.symbol, []).append(calls[call.profile_slot])
    return {symbol: comment(labels) for symbol, labels in uses.items()}


def manifest(own: Signature, header: str, file: str, rtol: float) -> str:
    """Return what a test needs to call the model, as JSON: see ``docs/microcontrollers.md``."""

    def listed(kind: Any) -> list[dict[str, Any]]:
        return [{"name": p.name, "dtype": p.dtype, "shape": list(p.shape)} for p in own.of_kind(kind)]

    fields = {
        "entry": c.runner(own),
        "header": header,
        "inputs": listed("input"),
        "outputs": listed("output"),
        "cases": file,
        "rtol": rtol,
        "arena_bytes": own.workspace or 0,
    }
    return json.dumps(fields, indent=1) + "\n"
