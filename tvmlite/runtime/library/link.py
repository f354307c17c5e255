"""Linking of object files to a shared library, with any linker that this machine has."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tvmlite.core.errors import LibraryError
from tvmlite.machine.triple import Triple
from tvmlite.runtime.library import elf, seal, segment

HINT = "install a C compiler (apt install gcc, xcode-select --install), or: pip install ziglang"

_ELSEWHERE = "the environment variable TMPDIR names the folder for temporary files"

C_FLAGS = (
    "-std=c99",
    "-O3",
    "-march=native",
    *(["-mtune=generic"] if platform.machine() in ("x86_64", "AMD64") else []),
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fPIC",
)
"""The flags of C kernels that run on the machine that compiles them. With the tuning of some processors, GCC
12 loads a vector from memory for each of its uses: a tile of 4 x 64 accumulators ran at 0.46 of its speed."""


def c_compilers(triple: str = "") -> list[list[str]]:
    """The commands of the installed C compilers for ``triple``, best first ("": this machine)."""
    found, native = [], Triple.parse(triple).is_native
    if native:
        found = [[path] for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    elif path := shutil.which(f"{triple}-gcc"):
        found = [[path]]
    if has_zig():
        command = [sys.executable, "-m", "ziglang", "cc"]
        found.append(command if native else [*command, "-target", _zig_triple(triple)])
    return found


def has_zig() -> bool:
    """Whether the package ``ziglang`` is installed, a compiler and linker for many targets."""
    return importlib.util.find_spec("ziglang") is not None


def linkers(triple: str = "") -> list[list[str]]:
    """The commands that can link a shared library: the C compilers, and ``ld`` by itself."""
    found = c_compilers(triple)
    if Triple.parse(triple).is_native and sys.platform == "linux" and (path := shutil.which("ld")):
        found.append([path])
    return found


def _zig_triple(triple: str) -> str:
    """LLVM's ``aarch64-unknown-linux-gnu`` as zig's ``aarch64-linux-gnu``."""
    machine = Triple.parse(triple)
    architecture = "arm" if machine.architecture.startswith(("arm", "thumb")) else machine.architecture
    if re.fullmatch(r"i[3-6]86", architecture):
        architecture = "x86"
    environment = [machine.environment] if machine.environment else []
    return "-".join([architecture, machine.system or "freestanding", *environment])


def shared(
    objects: Sequence[bytes | Path],
    path: str | os.PathLike[str],
    exports: Sequence[str] = (),
    triple: str = "",
    data: tuple[str, np.ndarray] | None = None,
    metadata: str = "",
    whole: bool = False,
) -> Path:
    """Link ``objects`` (bytes, or files) into the shared library ``path``, atomically; returns the path.

    If ``exports`` are named, only these symbols are exported, except for macOS, where all are. ``data`` is a
    symbol that the objects refer to, and its bytes, uint8, of any size (``segment``). With ``metadata``
    ``runtime.load`` accepts the file (``seal``). A static library among ``objects`` is linked completely
    if ``whole``, else only the members that other objects refer to. Raises LibraryError if
    there is no linker, or it fails, or a file cannot be written.
    """
    commands = linkers(triple)
    if not commands:
        what = f"for target {triple!r}" if triple else "on this machine"
        raise LibraryError(f"cannot link {os.fspath(path)!r}: there is no linker {what}", hint=HINT)
    own_segment = data is not None and elf.has_objects(triple)
    with temporary_folder("tvmlite-link-") as folder:
        files = as_files(
            [*objects, segment.placeholder(data[0], triple)] if data and own_segment else objects, folder
        )
        if data is not None and not own_segment:
            files.append(data_object(*data, triple, folder))
        script = _exports_script(exports, folder, triple)
        linked = folder / "linked" / (Path(path).name or "library")  # some linkers write its name into it
        linked.parent.mkdir()

        def link(output: Path) -> None:
            made = [_link_command(one, files, linked, script, triple, whole) for one in commands]
            run_first(made, f"linking {path}")
            shutil.copyfile(linked, output)
            if data and own_segment:
                segment.append(output, data[1])
            if metadata:
                seal.append(output, metadata)

        return write_atomically(path, link)


def relocatable(
    objects: Sequence[bytes | Path],
    path: str | os.PathLike[str],
    triple: str = "",
    data: tuple[str, np.ndarray] | None = None,
) -> Path:
    """Join ``objects`` and ``data`` into one object, to be linked later, and return its path; errors as in
    ``shared``."""
    zig = [sys.executable, "-m", "ziglang", "ld.lld"]
    commands = [zig if "ziglang" in command else command for command in linkers(triple)]
    begins = [[*c, "-r", *([] if c == zig or _is_ld(c) else ["-nostdlib"]), "-o"] for c in commands]
    return _joined(begins, objects, path, triple, data)


def archive(
    objects: Sequence[bytes | Path],
    path: str | os.PathLike[str],
    triple: str = "",
    data: tuple[str, np.ndarray] | None = None,
) -> Path:
    """Put ``objects`` and ``data`` into one static library, and return its path; errors as in ``shared``."""
    native = Triple.parse(triple).is_native
    own = [[found] for name in ("ar", "llvm-ar") if native and (found := shutil.which(name))]
    commands = [*own, *([[sys.executable, "-m", "ziglang", "ar"]] if has_zig() else [])]
    return _joined([[*command, "rcsD"] for command in commands], objects, path, triple, data)


def _joined(
    commands: Sequence[list[str]],
    objects: Sequence[bytes | Path],
    path: str | os.PathLike[str],
    triple: str,
    data: tuple[str, np.ndarray] | None,
) -> Path:
    """Write ``path`` by the first of ``commands`` that succeeds; each takes the output, then the inputs."""
    if not commands:
        what = f"for target {triple!r}" if triple else "on this machine"
        raise LibraryError(f"cannot write {os.fspath(path)!r}: there is no linker {what}", hint=HINT)
    with temporary_folder("tvmlite-link-") as folder:
        files = as_files(objects, folder)
        if data is not None:
            files.append(data_object(*data, triple, folder))

        def join(output: Path) -> None:
            output.unlink()  # ar would add to an existing archive
            run_first([[*command, str(output), *map(str, files)] for command in commands], f"joining {path}")

        return write_atomically(path, join, mode=0o666)


def compile_c(source: str, triple: str) -> bytes:
    """The object of a C source for ``triple``; LibraryError if there is no compiler for it, or it fails."""
    commands = c_compilers(triple)
    if not commands:
        raise LibraryError(f"there is no C compiler for target {triple!r}", hint="pip install ziglang")
    with temporary_folder("tvmlite-c-") as folder:
        file, output = folder / "source.c", folder / "source.o"
        write_file(file, source.encode())
        options = ["-std=c99", "-O2", *([] if triple.startswith("wasm") else ["-fPIC"])]
        run_first(
            [[*command, *options, "-c", str(file), "-o", str(output)] for command in commands],
            f"compiling C for {triple}",
        )
        return output.read_bytes()


def data_object(symbol: str, data: np.ndarray, triple: str, folder: Path) -> Path:
    """An object file in ``folder`` in which ``symbol`` is the read-only ``data``, uint8, aligned to 64 bytes.

    The compiler for ``triple`` assembles it from a file with the bytes. Errors as in ``compile_c``."""
    write_file(folder / "data.bin", data.tobytes())
    path = (folder / "data.bin").as_posix()
    object_format = Triple.parse(triple).object_format
    wasm, apple, windows = (object_format == one for one in ("wasm", "macho", "coff"))
    section = f'.section .rodata.{symbol},"",@' if wasm else ".const" if apple else ".section .rodata"
    section = '.section .rdata,"dr"' if windows else section
    name = f"_{symbol}" if apple else symbol
    kind = [f".type {name},@object"] if wasm else []
    size = [f".size {name}, {data.nbytes}"] if wasm else []
    stack = (
        [] if wasm or apple or windows else ['.section .note.GNU-stack,"",%progbits']
    )  # the stack need not be executable
    lines = [section, f".globl {name}", *kind, ".p2align 6", f"{name}:", f'.incbin "{path}"', *size, *stack]
    text, output = folder / "data.s", folder / "data.o"
    write_file(text, "\n".join([*lines, ""]).encode())
    run_first(
        [[*command, "-c", str(text), "-o", str(output)] for command in c_compilers(triple)],
        f"assembling data for {triple}",
    )
    return output


def as_files(objects: Sequence[bytes | Path], folder: Path) -> list[Path]:
    """``objects`` as files; those given as bytes are written to ``folder``."""
    files = []
    for number, one in enumerate(objects):
        if isinstance(one, (bytes, bytearray, memoryview)):
            files.append(folder / f"{number}.o")
            write_file(files[-1], one)
        else:
            files.append(Path(one))
    return files


def _exports_script(exports: Sequence[str], folder: Path, triple: str) -> Path | None:
    """A file that lists ``exports`` for the linker, if it takes one."""
    if exports and Triple.parse(triple).object_format == "coff":
        listed = folder / "exports.def"
        write_file(listed, "\n".join(["EXPORTS", *exports, ""]).encode())
        return listed
    if not exports or Triple.parse(triple).system != "linux":
        return None
    script = folder / "exports.map"
    write_file(script, ("{ global: " + " ".join(f"{name};" for name in exports) + " local: *; };\n").encode())
    return script


def _link_command(
    command: list[str],
    files: Sequence[Path],
    output: Path,
    script: Path | None,
    triple: str,
    whole: bool,
) -> list[str]:
    """The command that links ``files``. The library is never unloaded (``nodelete``), as threads of the pool
    run its code."""
    machine = Triple.parse(triple)
    if machine.object_format in ("coff", "macho"):
        named = [f"-Wl,-install_name,@rpath/{output.name}"] if machine.object_format == "macho" else []
        listed = [str(script)] if script else []
        return [*command, "-shared", "-s", "-o", str(output), *map(str, files), *listed, *named]
    alone = _is_ld(command)
    options = ["-Bsymbolic", "-z,noexecstack", "-z,nodelete"]
    options += [f"--version-script={script}"] if script else []
    passed = (
        [word for option in options for word in option.split(",")] if alone else [f"-Wl,{o}" for o in options]
    )
    libraries = ["-lm", "-lc"] if alone else ["-lm", "-lpthread"]
    begin, end = ("--whole-archive", "--no-whole-archive") if alone else (_WHOLE, _NOT_WHOLE)
    linked = [begin, *map(str, files), end] if whole else list(map(str, files))
    return [*command, "-shared", "-o", str(output), *linked, *passed, *libraries]


_WHOLE, _NOT_WHOLE = "-Wl,--whole-archive", "-Wl,--no-whole-archive"


def _is_ld(command: Sequence[str]) -> bool:
    """Whether ``command`` is a linker itself and not a compiler that calls one."""
    return Path(command[0]).name == "ld"


def run_first(commands: Sequence[list[str]], doing: str) -> None:
    """Run ``commands`` until one succeeds; LibraryError with the first one's output if none does."""
    said: list[str] = []
    absent: list[str] = []
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        except OSError as error:
            absent.append(str(error))
            continue
        if done.returncode == 0:
            return
        words = (done.stderr or done.stdout).strip()
        said.append(words[-2000:] or f"{command[0]} ended with {done.returncode} (-25: a file too large)")
    if said:  # a tool exists, and its output is the reason, be it a full disk or a wrong symbol
        raise LibraryError(f"{doing} failed: {said[0]}")
    raise LibraryError(f"{doing} failed: {'; '.join(absent)}", hint=HINT)


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A context with a temporary folder; LibraryError if it cannot be created."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=prefix)
    except OSError as error:
        raise LibraryError(f"cannot make a temporary folder: {error}", hint=_ELSEWHERE) from error
    with folder as name:
        yield Path(name)


def write_file(path: Path, content: bytes) -> None:
    """Write a temporary file; raises a LibraryError with its name if that fails."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise LibraryError(f"cannot write {path}: {error.strerror or error}", hint=_ELSEWHERE) from error


def write_atomically(path: str | os.PathLike[str], make: Callable[[Path], object], mode: int = 0o777) -> Path:
    """Let ``make`` write a file in the same folder, then rename it to ``path``; a failure leaves no file.

    The file gets the permissions ``mode`` without those in the process's umask. Raises a LibraryError with
    the reason if it cannot be written: a full disk, a folder that does not exist or is not writable.
    """
    final = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=final.parent, prefix=f".{final.name}.", suffix=final.suffix)
    except OSError as error:
        raise LibraryError(f"cannot write {final}: {error.strerror or error}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        make(temporary)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(mode & ~umask)
        temporary.replace(final)
    except OSError as error:
        raise LibraryError(f"cannot write {final}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return final
