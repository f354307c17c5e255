"""Compiled functions in this process, linked with the thread pool and looked up by name."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

from tvmlite.core.errors import LibraryError
from tvmlite.core.node import postorder
from tvmlite.machine import processor
from tvmlite.machine.features import missing_features
from tvmlite.machine.target import Target
from tvmlite.machine.triple import Triple
from tvmlite.runtime.library import link
from tvmlite.runtime.pool import pool, threads
from tvmlite.te.codegen import jit, packed
from tvmlite.te.codegen.c import build as c_build
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.expr import Foreign
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.shapes import shapes_function


class Loaded(Protocol):
    """Code in this process; addresses are valid while the object lives."""

    def address(self, name: str) -> int:
        """The address of the function ``name``."""
        ...


def load(
    functions: Sequence[loop.Function],
    target: Target,
    objects: Sequence[bytes] = (),
    callees: Sequence[loop.Function] = (),
    constants: Mapping[str, np.ndarray] | None = None,
) -> Loaded:
    """Compile and load the legal ``functions``, the ``NAME_shapes`` of those that need one, and the code that
    they call: ``objects`` for LLVM targets, the legal ``callees`` for C.

    ``constants`` are the blobs that ``functions`` refer to, by symbol. For LLVM targets they are not copied,
    so that the caller has to keep them. Code that cannot run here is not loaded: its addresses are 0.
    """
    if reason_not_to_run(target):
        return Unrunnable()
    every = with_shapes(functions)
    blobs = constants or {}
    callbacks = {packed.symbol_of(call): packed.callback(call) for call in packed.packed_calls(every)}
    if target.kind == "c":
        source = c.generate([*callees, *every], target)
        assert len(blobs) <= 1, "a library has one symbol of constants"
        return _CLibrary(source, next(iter(blobs.items()), None), callbacks)
    own = [jit.compile_object(llvm.generate(one, target), target) for one in every]
    symbols = {**pool_symbols(), **{name: b.ctypes.data for name, b in blobs.items()}}
    symbols |= {name: _address_of(function) for name, function in callbacks.items()}
    loaded = jit.load([*objects, *own], symbols)
    loaded.keep = callbacks
    return loaded


def reason_not_to_run(target: Target) -> str:
    """The reason that code for ``target`` cannot run in this process; empty if it can."""
    if target.kind != "llvm":
        return ""
    native = processor.host()[0]  # of the process, which may be 32-bit on a 64-bit machine
    ours, theirs = Triple.parse(native), Triple.parse(target.triple)
    same = (ours.architecture, ours.system) == (theirs.architecture, theirs.system)
    if not same:  # calling conventions differ between systems
        return f"it is for {target.triple}, this process runs on {native}"
    missing = missing_features(sorted(target.instructions))
    return f"this processor lacks {', '.join(missing)}" if missing else ""


def absent_callees(functions: Sequence[loop.Function]) -> list[str]:
    """The names of the C functions that ``functions`` call and this process does not have."""
    nodes = (node for function in functions for node in postorder(function.body))
    names = {node.name for node in nodes if isinstance(node, Foreign) and node.kind == "c"}
    here = ctypes.CDLL(None) if names and sys.platform != "win32" else None
    return sorted(name for name in names if here is not None and not hasattr(here, name))


class Unrunnable:
    """A placeholder for code that cannot run here: every function is at address 0."""

    def address(self, name: str) -> int:
        """0."""
        return 0


def _address_of(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def with_shapes(functions: Sequence[loop.Function]) -> list[loop.Function]:
    """``functions``, each followed by its ``NAME_shapes`` if it needs one."""
    return [one for f in functions for one in (f, shapes_function(f)) if one is not None]


def shapes_address(loaded: Loaded, function: loop.Function) -> int:
    """The address of ``function``'s ``NAME_shapes``; 0 if it needs none."""
    return loaded.address(f"{function.name}_shapes") if shapes_function(function) is not None else 0


@cache
def pool_symbols() -> dict[str, int]:
    """The addresses of the functions of this process's one thread pool for compiled code."""
    loaded = jit.load([pool_object(Target.parse("native"))], {}, forever=True)
    addresses = {name: loaded.address(name) for name in pool.SYMBOLS}
    setter = ctypes.CFUNCTYPE(None, ctypes.c_int32)(addresses["tvmlite_set_num_threads"])

    def set_threads(number: int, keep: object = loaded) -> None:
        setter(number)

    threads.register_pool("jit", set_threads)
    return addresses


def pool_object(target: Target) -> bytes:
    """The thread pool compiled for ``target``; if there is no LLVM IR of it, by a C compiler, and a
    LibraryError is raised if there is none."""
    if pool.has_llvm_ir(target.triple):
        return jit.compile_object(pool.llvm_ir(target.triple), target)
    return link.compile_c(pool.source(), target.triple)


class _CLibrary:
    """C source compiled by this machine's C compiler and loaded, with its own thread pool."""

    def __init__(
        self, source: str, constants: tuple[str, np.ndarray] | None, callbacks: Mapping[str, Any]
    ) -> None:
        self._callbacks = callbacks
        with link.temporary_folder("tvmlite-c-") as folder:
            path = c_build.compile_shared(source, folder / "code.so", [pool.source()], data=constants)
            self._library = ctypes.CDLL(str(path))  # once mapped, the file is not needed any more
        for name, function in callbacks.items():
            ctypes.c_void_p.in_dll(self._library, name).value = _address_of(function)
        setter = self._library.tvmlite_set_num_threads
        setter.argtypes, setter.restype = [ctypes.c_int32], None
        threads.register_pool(ctypes.cast(setter, ctypes.c_void_p).value, setter)

    def address(self, name: str) -> int:
        """The address of the function ``name``."""
        try:
            return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            raise LibraryError(f"cannot find {name!r} in the code just compiled") from None
