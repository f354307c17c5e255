"""From LLVM IR text to object code, and from object code to addresses in this process.

Run as a module (``python -m tvmlite.te.codegen.jit``) it is a child process that compiles for machines of
another kind: a back end of LLVM that cannot select an instruction ends its process.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import itertools
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import llvmlite.binding as llvm

from tvmlite.core.cache import key_of, object_cache
from tvmlite.core.errors import LibraryError, UnsupportedError
from tvmlite.core.source_digest import source_digest
from tvmlite.machine import processor
from tvmlite.machine.target import Target, family
from tvmlite.machine.triple import Triple
from tvmlite.te.codegen import child
from tvmlite.te.codegen.llvm.text import EXPLICIT

Kind = Literal["object", "assembly", "ir"]
_EXTREME = re.compile(r"call \w+ @llvm\.[su](max|min)\.")
"""The larger or smaller of two ints."""

_VECTOR = re.compile(r"<(\d+) x ")
_library_numbers = itertools.count()
_lock = threading.Lock()


def compile_object(ir_text: str, target: Target) -> bytes:
    """The object code of a module: optimised, position-independent, from the cache if it is there.

    The same text gives the same bytes in every process. UnsupportedError if LLVM cannot generate code
    for a target of another kind than this machine.
    """
    cache, digest = object_cache(), module_digest(ir_text)
    stored = None if cache is None else cache.get(object_key(digest, target))
    if stored is not None:
        return stored
    made = _compile(ir_text, target, "object")
    if cache is not None:
        cache.put(object_key(digest, target), made)
    return made


def module_digest(ir_text: str) -> str:
    """What stands for a module's text in ``object_key``: a hash."""
    return key_of("module", ir_text)


def object_key(module: str, target: Target) -> str:
    """What the cache keeps the object code of a module for ``target`` under: a hash of the module's digest
    and of all that makes code of it, which are LLVM, what is asked of it, and this file."""
    version = ".".join(map(str, llvm.llvm_version_info))
    ours = source_digest("te/codegen/jit.py", "te/codegen/llvm/text.py")
    return key_of("object", module, version, target.triple, target.cpu, ",".join(target.features), ours)


@contextmanager
def alone() -> Iterator[None]:
    """Where no other thread generates code."""
    with _lock, child.lock:
        yield


def assembly(ir_text: str, target: Target) -> str:
    """The assembly of a module, with LLVM's comments (spills are marked ``-byte Spill``)."""
    return _compile(ir_text, target, "assembly").decode()


def optimized_ir(ir_text: str, target: Target) -> str:
    """The module after LLVM's optimisations, as text."""
    return _compile(ir_text, target, "ir").decode()


class Loaded:
    """Object code in this process; its addresses hold as long as this object lives."""

    def __init__(
        self, engine: llvm.orcjit.LLJIT, name: str, tracker: llvm.orcjit.ResourceTracker, forever: bool
    ) -> None:
        self._engine = engine
        self._name = name
        self._forever = forever
        self._trackers = {"": _kept(tracker) if forever else tracker}
        self.keep: object = None
        """What the code refers to and must live as long."""

    def address(self, name: str) -> int:
        """The address of the function or data ``name``; LibraryError if there is none, or if it needs a
        symbol that is nowhere."""
        if name not in self._trackers:
            try:
                tracker = self._engine.lookup(self._name, name)
            except RuntimeError as error:
                raise LibraryError(f"cannot find {name!r} in the code just compiled: {error}") from error
            self._trackers[name] = _kept(tracker) if self._forever else tracker
        return self._trackers[name][name]


def load(objects: Sequence[bytes], symbols: Mapping[str, int], forever: bool = False) -> Loaded:
    """Link ``objects`` into this process; ``symbols`` are addresses of what they need besides the C library.

    ``forever`` is for code that threads may be running whenever it would be unloaded (the thread pool): it
    stays until the process has ended. LibraryError if the objects cannot be linked.
    """
    engine = _engine()
    builder = llvm.JITLibraryBuilder()
    for one in objects:
        builder.add_object_img(one)
    for name in sorted(symbols):
        builder.import_symbol(name, symbols[name])
    builder.add_current_process()
    name = f"tvmlite.{next(_library_numbers)}"
    try:
        tracker = builder.link(engine, name)
    except RuntimeError as error:
        raise LibraryError(f"compiled code cannot be linked: {error}") from error
    return Loaded(engine, name, tracker, forever)


def _kept(owner: Any) -> Any:
    """``owner`` of something of LLVM's, which no longer disposes of it; nothing else does either."""
    owner._owned = True
    return owner


def _engine() -> llvm.orcjit.LLJIT:
    with _lock:
        return _the_engine()


@functools.cache
def _the_engine() -> llvm.orcjit.LLJIT:
    """The process's one linker of compiled code; the C library's mathematics are made visible to it.

    It is never disposed of: code of the thread pool may run until the very end of the process. It is LLVM's
    newer linker, JITLink: the older lays a function and its constants out apart, and after thousands of loads
    they may be more than 2 GB apart, where the small code model's addresses end, and LLVM aborts.
    """
    if not hasattr(ctypes.CDLL(None), "erff"):
        ctypes.CDLL(ctypes.util.find_library("m"), mode=ctypes.RTLD_GLOBAL)
    triple, cpu, features = processor.host()
    machine = _machine(triple, cpu, ",".join(features))
    return _kept(llvm.create_lljit_compiler(machine, use_jit_link=True))


def _machine(triple: str, cpu: str, features: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()  # for text with instructions that LLVM has no name for
    found = llvm.Target.from_triple(triple)
    return found.create_target_machine(cpu, features, opt=3, reloc="pic", codemodel="small")


def _compile(ir_text: str, target: Target, kind: Kind) -> bytes:
    features = ",".join(target.features)
    if family(target.triple) == family(processor.host()[0]):
        return _compile_here(ir_text, target.triple, target.cpu, features, kind)
    request = {"kind": kind, "triple": target.triple, "cpu": target.cpu, "features": features}
    try:
        return child.ask("tvmlite.te.codegen.jit", request, ir_text.encode())
    except child.LostChild as lost:
        raise UnsupportedError(f"LLVM cannot generate code for {target}: {lost}") from None


def _compile_here(ir_text: str, triple: str, cpu: str, features: str, kind: Kind) -> bytes:
    """Optimise a fresh module and emit it once: emitting changes it, so that a second time is worse code."""
    triple = Triple.parse(triple).normalized
    with _lock:
        machine = _machine(triple, cpu, features)
        module = llvm.parse_assembly(ir_text)
        module.triple = triple
        module.data_layout = str(machine.target_data)
        if EXPLICIT in ir_text:
            _simplify(module, machine)
        else:
            _optimize(module, machine, _may_go_side_by_side(ir_text), loops=not _has_odd_vectors(ir_text))
        if kind == "object":
            return machine.emit_object(module)
        if kind == "ir":
            return str(module).encode()
        machine.set_asm_verbosity(True)
        return machine.emit_assembly(module).encode()


def _simplify(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """What a module needs that is written as it is to run: arrays brought into registers, stores dropped
    that others follow, arithmetic and jumps simplified. It takes a fifth of the time of LLVM's own pipeline,
    which finds nothing more."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3)))


def _may_go_side_by_side(ir_text: str) -> bool:
    """Whether LLVM may search for statements that side by side make a vector: it costs a tenth of all the
    time, and what already works on vectors was arranged so on purpose.

    LLVM 22 then takes ``uitofp i64 (sext i32 x)`` for ``uitofp i32 x``, which loses the sign, and ends the
    process on the largest or least of some comparisons as numbers, of which one became a shift: modules that
    have both parts of either are left as they are.
    """
    if "store <" in ir_text or ("= uitofp " in ir_text and "= sext " in ir_text):
        return False
    return not ("= zext i1 " in ir_text and _EXTREME.search(ir_text))


def _has_odd_vectors(ir_text: str) -> bool:
    """Whether there are vectors of other lengths than powers of two.

    Where LLVM 22 makes vectors of loops that fill what such vectors are then loaded from, it unrolls all and
    gets the shuffles wrong: a row of minima came out as another's.
    """
    return any(int(lanes).bit_count() > 1 for lanes in set(_VECTOR.findall(ir_text)))


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, side_by_side: bool, loops: bool) -> None:
    """LLVM's own pipeline, which looks for statements that ``side_by_side`` make a vector, and for ``loops``
    whose iterations do, if it may."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_interleaving = loops
    options.slp_vectorization = side_by_side
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def main() -> None:
    """Compile modules for others, as ``child.ask`` sends them."""

    def compiled(request: dict[str, Any], text: bytes) -> bytes:
        triple, cpu, features = (request[key] for key in ("triple", "cpu", "features"))
        return _compile_here(text.decode(), triple, cpu, features, request["kind"])

    child.serve(compiled)


if __name__ == "__main__":
    main()
