"""Compilation of LLVM IR text to object code, and linking of object code into this process.

Run as a module (``python -m tvmlite.te.codegen.jit``), it is a child process that compiles for other
architectures, as LLVM aborts the process if a back end cannot select an instruction.
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
"""A call of an intrinsic for the maximum or minimum of two ints."""

_VECTOR = re.compile(r"<(\d+) x ")
_library_numbers = itertools.count()
_lock = threading.Lock()


def compile_object(ir_text: str, target: Target) -> bytes:
    """The optimised, position-independent object code of a module, from the cache if it is there.

    The same text gives the same bytes in every process. Raises UnsupportedError if LLVM cannot generate code
    for a target of another architecture than this machine.
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
    """The hash of a module's text, for ``object_key``."""
    return key_of("module", ir_text)


def object_key(module: str, target: Target) -> str:
    """The cache key of the object code of a module for ``target``: a hash of the digest ``module``, LLVM's
    version, the target, and the sources of this file and of ``llvm/text.py``."""
    version = ".".join(map(str, llvm.llvm_version_info))
    ours = source_digest("te/codegen/jit.py", "te/codegen/llvm/text.py")
    return key_of("object", module, version, target.triple, target.cpu, ",".join(target.features), ours)


@contextmanager
def exclusive() -> Iterator[None]:
    """A context in which no other thread generates code."""
    with _lock, child.lock:
        yield


def assembly(ir_text: str, target: Target) -> str:
    """The assembly of a module, with LLVM's comments (spills are marked ``-byte Spill``)."""
    return _compile(ir_text, target, "assembly").decode()


def optimized_ir(ir_text: str, target: Target) -> str:
    """The module after LLVM's optimisations, as text."""
    return _compile(ir_text, target, "ir").decode()


class Loaded:
    """Object code in this process; its addresses are valid while this object lives."""

    def __init__(
        self, engine: llvm.orcjit.LLJIT, name: str, tracker: llvm.orcjit.ResourceTracker, forever: bool
    ) -> None:
        self._engine = engine
        self._name = name
        self._forever = forever
        self._trackers = {"": _never_disposed(tracker) if forever else tracker}
        self.keep: object = None
        """Objects that the code refers to, kept alive as long as the code."""

    def address(self, name: str) -> int:
        """The address of the function or data ``name``; LibraryError if there is none, or if it refers to an
        undefined symbol."""
        if name not in self._trackers:
            try:
                tracker = self._engine.lookup(self._name, name)
            except RuntimeError as error:
                raise LibraryError(f"cannot find {name!r} in the code just compiled: {error}") from error
            self._trackers[name] = _never_disposed(tracker) if self._forever else tracker
        return self._trackers[name][name]


def load(objects: Sequence[bytes], symbols: Mapping[str, int], forever: bool = False) -> Loaded:
    """Link ``objects`` into this process; ``symbols`` has the addresses that they need besides the C library.

    With ``forever`` the code stays until the process ends: for the thread pool, whose code a thread may be
    executing whenever it would be unloaded. Raises LibraryError if the objects cannot be linked.
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


def _never_disposed(owner: Any) -> Any:
    """``owner``, an llvmlite wrapper, marked so that it never disposes of its LLVM object."""
    owner._owned = True
    return owner


def _engine() -> llvm.orcjit.LLJIT:
    with _lock:
        return _shared_engine()


@functools.cache
def _shared_engine() -> llvm.orcjit.LLJIT:
    """The process's one linker of compiled code; the C math library is made visible to it.

    It is never disposed of, as code of the thread pool may run until the process ends. It is LLVM's newer
    linker, JITLink: the older one allocates a function and its constants separately; after thousands of loads
    they may be more than 2 GB apart, out of range of the small code model's addresses, and LLVM aborts.
    """
    if not hasattr(ctypes.CDLL(None), "erff"):
        ctypes.CDLL(ctypes.util.find_library("m"), mode=ctypes.RTLD_GLOBAL)
    triple, cpu, features = processor.host()
    machine = _machine(triple, cpu, ",".join(features))
    return _never_disposed(llvm.create_lljit_compiler(machine, use_jit_link=True))


def _machine(triple: str, cpu: str, features: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()  # for inline assembly
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
    """Optimise a new module and emit it once: emitting changes it, so that a second time gives worse code."""
    triple = Triple.parse(triple).normalized
    with _lock:
        machine = _machine(triple, cpu, features)
        module = llvm.parse_assembly(ir_text)
        module.triple = triple
        module.data_layout = str(machine.target_data)
        if EXPLICIT in ir_text:
            _simplify(module, machine)
        else:
            _optimize(module, machine, _may_run_slp(ir_text), loops=not _has_odd_vectors(ir_text))
        if kind == "object":
            return machine.emit_object(module)
        if kind == "ir":
            return str(module).encode()
        machine.set_asm_verbosity(True)
        return machine.emit_assembly(module).encode()


def _simplify(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """The passes for a module with the attribute EXPLICIT: promote arrays to registers, remove dead stores,
    simplify arithmetic and jumps. They take a fifth of the time of LLVM's default pipeline, which finds
    nothing more."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3)))


def _may_run_slp(ir_text: str) -> bool:
    """Whether LLVM may run SLP vectorization, which takes a tenth of the compile time: not for modules that
    already store vectors, as the schedule chose these.

    LLVM 22 then confuses ``uitofp i64 (sext i32 x)`` with ``uitofp i32 x``, which loses the sign, and aborts
    on the maximum or minimum of some comparisons converted to ints, of which one became a shift. It does not
    run on modules that have both parts of either pattern.
    """
    if "store <" in ir_text or ("= uitofp " in ir_text and "= sext " in ir_text):
        return False
    return not ("= zext i1 " in ir_text and _EXTREME.search(ir_text))


def _has_odd_vectors(ir_text: str) -> bool:
    """Whether there are vectors whose length is not a power of two.

    If LLVM 22 vectorizes loops that fill an array from which such vectors are then loaded, it unrolls all of
    them and generates wrong shuffles: a row of minima came out as another row's.
    """
    return any(int(lanes).bit_count() > 1 for lanes in set(_VECTOR.findall(ir_text)))


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, slp: bool, loops: bool) -> None:
    """Run LLVM's default pipeline, with SLP vectorization if ``slp`` and loop vectorization if
    ``loops``."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_interleaving = loops
    options.slp_vectorization = slp
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def main() -> None:
    """Compile the modules that ``child.ask`` sends to this process."""

    def compiled(request: dict[str, Any], text: bytes) -> bytes:
        triple, cpu, features = (request[key] for key in ("triple", "cpu", "features"))
        return _compile_here(text.decode(), triple, cpu, features, request["kind"])

    child.serve(compiled)


if __name__ == "__main__":
    main()
