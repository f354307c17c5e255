"""Writes compiled models to disk: libraries, objects, WebAssembly, archives, C source, headers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

from tvmlite.core import VERSION
from tvmlite.core.errors import InputError, LibraryError, TvmliteError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.machine.triple import Triple
from tvmlite.model import archive, cpu_levels, library_export, standalone
from tvmlite.model.code_size import budget
from tvmlite.model.exportable import Function, Model
from tvmlite.model.kernels import legal_kernel
from tvmlite.relay.ir.nodes import Constant, Module
from tvmlite.runtime.library import library, link, wasm
from tvmlite.runtime.pool import pool
from tvmlite.te.codegen import jit, packed, process
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.library_ir import metadata_ir

ENDINGS = (".so", ".dll", ".dylib", ".wasm", ".a", ".o", ".tar", ".c", ".h")

FUNCTION_ENDINGS = tuple(ending for ending in ENDINGS if ending != ".tar")
"""The endings for one function: an archive is of a model."""

SHARED = {"coff": ("Windows", ".dll"), "macho": ("macOS", ".dylib")}
"""For object formats other than ELF, the system and the ending of its shared libraries."""

JAVASCRIPT = Path(__file__).parent / "web" / "tvmlite.js"
"""The module that runs WebAssembly in a browser; it is written beside a ``.wasm``."""

MOST_IN_C = 1 << 31
"""The most bytes of weights written as C source: compiled code addresses static data by 32-bit distances."""


def export(
    lib: Model, path: Path, weights: str = standalone.IN_SOURCE, code_size: int | str | None = None
) -> None:
    """Write ``lib`` to ``path`` in the format of its ending. A file appears complete or not at all.

    ``weights`` and ``code_size`` are for C for a machine without a system: see ``standalone.write``.

    An unknown ending is an InputError, a file that cannot be written a LibraryError.
    """
    try:
        _export(lib, path, weights, code_size)
    except (OSError, ValueError) as error:  # a ValueError for a zero byte in the name
        if isinstance(error, TvmliteError):
            raise
        raise LibraryError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error


def _export(lib: Model, path: Path, weights: str, code_size: int | str | None = None) -> None:
    check_format(path, lib.constants.size)
    check_target(path, lib.target)
    if weights != standalone.IN_SOURCE and not lib.target.standalone:
        raise InputError(
            f"export: weights={weights!r} is for a target without a system, not {str(lib.target)!r}",
            hint='such as "c -system=none"; a .so holds weights of any size',
        )
    if lib.levels and path.suffix == ".c":
        raise InputError(
            f"cannot export to {path}: C source cannot contain CPU levels",
            hint=f"options of the C compiler choose the processor; a library can: {path.with_suffix('.so')}",
        )
    most = None if code_size is None else budget(code_size)
    if most is not None and not (lib.target.standalone and path.suffix == ".c"):
        raise InputError(
            f"export: code_size={code_size!r} is for C for a target without a system, not {path.name} for "
            f"{str(lib.target)!r}"
        )
    if lib.target.standalone and path.suffix in (".c", ".h"):
        standalone.write(lib, path, weights, _write, most)
        return
    match path.suffix:
        case ".so" | ".dll" | ".dylib" | ".wasm" | ".a" | ".o":
            _write_library(library_export.of_model(lib), path)
        case ".tar":
            text = _text_of(library_export.of_model(lib))
            highest = lib.levels[-1] if lib.levels else lib  # whatever level this machine runs
            assert highest.module is not None
            assert highest.report is not None
            archive.write(path, text, highest.module, highest.report, lambda folder: _code_of(lib, folder))
        case ".c":
            _sources(lib, path)
        case _:
            _write(path, _header(library_export.of_model(lib)))


def _header(code: library_export.Code) -> str:
    """The header of a library; for a machine without a system, that of its plain functions."""
    if code.has_interface:
        return library_export.header(code)
    return c.header(dataclasses.replace(code.signature, messages=code.signature.messages[:-1]))


def _text_of(code: library_export.Code) -> str:
    """The metadata of an archive; with C source it describes plain functions."""
    plain = code.target.kind == "c" or not code.has_interface
    return _metadata(code, code.target) if plain else library_export.metadata(code)


def _code_of(lib: Model, folder: Path) -> list[Path]:
    """Write the files of ``lib``'s code and its header into ``folder``, and return them."""
    path = folder / lib.entry.name
    for ending in (".c",) if lib.target.kind == "c" else (".a", ".h"):
        _export(lib, path.with_suffix(ending), standalone.IN_SOURCE)
    return list(folder.iterdir())


def check_format(path: Path, weights: int = 0) -> None:
    """Raise an InputError if the format of ``path`` cannot hold a model with ``weights`` bytes of weights."""
    if path.suffix not in ENDINGS:
        raise InputError(f"cannot export to {path}: expected an ending of {', '.join(ENDINGS)}")
    if path.suffix == ".c" and weights > MOST_IN_C:
        raise InputError(
            f"cannot export to {path}: the model has {weights / 1e9:.1f} GB of weights, "
            f"C source holds at most {MOST_IN_C / 1e9:.1f} GB",
            hint=f"a library holds any number: {path.with_suffix('.so')}",
        )


def check_target(path: Path, target: Target) -> None:
    """Raise an InputError if the format of ``path`` cannot hold code for ``target``."""
    is_wasm = target.kind == "llvm" and Triple.parse(target.triple).object_format == "wasm"
    if path.suffix == ".wasm" and not is_wasm:
        raise InputError(
            f"cannot export to {path}: the code is for {target}", hint='compile for target="wasm"'
        )
    if is_wasm and path.suffix not in (".wasm", ".h"):
        raise InputError(f"cannot export to {path}: code for {target} goes into .wasm, its header into .h")
    machine = Triple.parse(target.triple)
    system, shared = SHARED.get(machine.object_format, ("", ".so"))
    for other, ending in SHARED.values():
        if path.suffix == ending != shared:
            raise InputError(
                f"cannot export to {path}: the code is for {target}, such a library is for {other}"
            )
    if system and path.suffix not in (".c", ".h", shared) and not machine.is_native:
        raise InputError(
            f"cannot export to {path}: on another system, code for {system} can only be linked to {shared}",
            hint=f"{path.with_suffix('.c')} is C source, which a compiler there makes a library of",
        )
    if target.kind == "c" and path.suffix in (".a", ".o"):
        raise InputError(
            f"cannot export to {path}: the code is for {target}",
            hint=f"write C source, {path.with_suffix('.c')}, and compile that",
        )


def weights_of(module: Module) -> int:
    """Return the bytes of the constants of ``module``."""
    nodes = (node for function in module.functions.values() for node in postorder(function.body))
    return sum(node.nbytes for node in nodes if isinstance(node, Constant))


def export_function(function: Function, path: Path) -> None:
    """Write one compiled schedule; see ``CompiledKernelFunction.export``."""
    check_target(path, function.target)
    legal = process.with_shapes([function.legal])
    for call in packed.packed_calls(legal):
        raise InputError(f"export: {function.name} calls the Python function {call.name!r}, which stays here")
    code = library_export.of_function(function, function.legal)
    if path.suffix == ".h":
        _write(path, _header(code))
    elif path.suffix == ".c":
        _write(path, function.source("c"))
        _write(path.with_name("tvmlite_pool.c"), pool.source())
    elif path.suffix in FUNCTION_ENDINGS:
        _write_library(code, path)
    else:
        raise InputError(f"cannot export to {path}: expected an ending of {', '.join(FUNCTION_ENDINGS)}")


def c_source(lib: Model) -> str:
    """Return the kernels and the entry as one C99 source, without the constants."""
    kernels = [legal_kernel(one.task, lib.target) for one in lib.kernels]
    return c.generate([*kernels, *process.with_shapes([lib.entry])], lib.target)


def _sources(lib: Model, path: Path) -> None:
    """Write ``NAME.c``, ``NAME.h``, ``NAME_constants.c`` if there are any, and the thread pool."""
    if lib.constants.size:  # first, as it is the largest: if the disk is full, nothing else is written
        _write(path.with_name(f"{path.stem}_constants.c"), _constants_in_c(lib))
    _write(path.with_name("tvmlite_pool.c"), pool.source())
    _write(path.with_suffix(".h"), c.header(lib.signature))
    _write(path, c_source(lib))


def _write(path: Path, text: str | bytes | Iterable[str]) -> None:
    """Write ``text``, whole or in pieces, which are generated while they are written."""

    def write(temporary: Path) -> None:
        if isinstance(text, bytes):
            temporary.write_bytes(text)
            return
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines([text] if isinstance(text, str) else text)

    link.write_atomically(path, write, mode=0o666)


def _constants_in_c(lib: Model) -> Iterator[str]:
    """The constants as an array of little-endian 64-bit words, which compilers read fastest."""
    words = lib.constants.blob().view("<u8")
    yield "#include <stdint.h>\n\n#if defined(__GNUC__)\n__attribute__((aligned(64)))\n#endif\n"
    yield f"const uint64_t {lib.entry.name}_constants[] = {{\n"
    for i in range(0, words.size, 8):
        yield ", ".join([f"0x{w:x}u" for w in words[i : i + 8].tolist()]) + ",\n"
    yield "};\n"


def _write_library(code: library_export.Code, path: Path) -> None:
    """Write ``code`` in the format of ``path``, with the C interface if its machine has a system."""
    if code.has_interface:
        library_export.write(code, path)
        return
    level, (entry,) = code.levels[0], code.entries
    entry = dataclasses.replace(entry, name=code.signature.name)
    functions, target = process.with_shapes([entry]), level.target
    text = _metadata(code, target)
    objects = [one.object for one in level.kernels]
    objects += [*library_export.objects_of(functions, target), process.pool_object(target)]
    data, names = code.data, [one.name for one in functions]
    if path.suffix == ".wasm":
        wasm.module(objects, path, names, target.triple, data, text)
        _write(path.with_name(JAVASCRIPT.name), JAVASCRIPT.read_text(encoding="utf-8"))
        return
    objects.append(jit.compile_object(metadata_ir(text), target))
    match path.suffix:
        case ".so":
            exports = [*names, library.METADATA, *pool.SYMBOLS]
            link.shared(objects, path, exports, target.triple, data, text)
        case ".a":
            link.archive(objects, path, target.triple, data)
        case _:
            link.relocatable(objects, path, target.triple, data)


def _metadata(code: library_export.Code, target: Target) -> str:
    """The metadata of a library without the C interface."""
    entry = code.entries[0]
    signature = dataclasses.replace(
        cpu_levels.signature_with(entry, code.signature.constants), name=code.signature.name
    )
    features = sorted(target.instructions)
    return library.metadata(signature, target.with_cores, features, version=VERSION, **code.fields)
