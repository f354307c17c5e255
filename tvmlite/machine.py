"""Machine code in this process: objects linked with the thread pool, functions found by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import cffi

from tvmlite.core.target import Target
from tvmlite.runtime import pool, threads
from tvmlite.te.codegen import jit, llvm
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.shapes import shapes_function


def objects_of(functions: Sequence[loop.Function], target: Target) -> list[bytes]:
    """The object code of legal ``functions``, and of the ``NAME_shapes`` of those that need one."""
    every = [
        one for function in functions for one in (function, shapes_function(function)) if one is not None
    ]
    return [jit.compile_object(llvm.generate(one, target), target) for one in every]


def link(objects: Sequence[bytes], symbols: Mapping[str, int] | None = None) -> jit.Loaded:
    """``objects`` in this process, with the thread pool; ``symbols`` are further addresses they need."""
    return jit.load(objects, {**pool_symbols(), **(symbols or {})})


@cache
def pool_symbols() -> dict[str, int]:
    """The addresses of this process's one thread pool for compiled code."""
    loaded = jit.load([pool_object(Target.parse("native"))], {})
    addresses = {name: loaded.address(name) for name in pool.SYMBOLS}
    setter = cffi.FFI().cast("void(*)(int32_t)", addresses["tvmlite_set_num_threads"])

    def set_threads(number: int, keep: object = loaded) -> None:
        setter(number)

    threads.register_pool("jit", set_threads)
    return addresses


def pool_object(target: Target) -> bytes:
    """The thread pool compiled for ``target``."""
    return jit.compile_object(pool.llvm_ir(target.triple), target)
