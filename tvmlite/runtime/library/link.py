"""One shared library from object files, with whatever linker the machine has."""

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
"""How kernels in C are compiled for the machine they are compiled on. Tuned for some processors, GCC 12
takes a vector from memory for each of its uses: a tile of 4 x 64 sums ran at 0.46 of its speed."""


def c_compilers(triple: str = "") -> list[list[str]]:
    """The commands of the C compilers there are, best first; for another machine, those that know it."""
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
    """Whether the package ``ziglang`` is installed, whose compiler and linker know many machines."""
    return importlib.util.find_spec("ziglang") is not None


def linkers(triple: str = "") -> list[list[str]]:
    """The commands that make a shared library: the C compilers, and ``ld`` on its own."""
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
    """Link ``objects`` (their bytes, or files) into the shared library ``path``, and return that.

    Only the symbols ``exports`` are visible from outside, if any are named; for macOS all are. ``data`` is a
    symbol that the objects refer to, and its bytes, uint8, of any number (``segment``). With ``metadata`` the
    file is one that ``runtime.load`` accepts (``seal``). Of a static library among ``objects`` all is linked
    if ``whole``, else what other objects refer to. It appears whole or not at all. Raises LibraryError when
    there is no linker, or it fails, or a file cannot be written.
    """
    commands = linkers(triple)
    if not commands:
        what = f"for target {triple!r}" if triple else "on this machine"
        raise LibraryError(f"cannot link {os.fspath(path)!r}: there is no linker {what}", hint=HINT)
    own_segment = data is not None and elf.has_objects(triple)
    with temporary_folder("tvmlite-link-") as folder:
        files = as_files(
            [*objects, segment.stand_in(data[0], triple)] if data and own_segment else objects, folder
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
    """Join ``objects`` and ``data`` into one object, to be linked later, and return its path; errors as of
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
    """Put ``objects`` and ``data`` into one static library, and return its path; errors as of ``shared``."""
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
    """The file ``path``, by the first of ``commands`` that succeeds: each takes it and then what to join."""
    if not commands:
        what = f"for target {triple!r}" if triple else "on this machine"
        raise LibraryError(f"cannot write {os.fspath(path)!r}: there is no linker {what}", hint=HINT)
    with temporary_folder("tvmlite-link-") as folder:
        files = as_files(objects, folder)
        if data is not None:
            files.append(data_object(*data, triple, folder))

        def join(output: Path) -> None:
            output.unlink()  # an archive that is there would be added to
            run_first([[*command, str(output), *map(str, files)] for command in commands], f"joining {path}")

        return write_atomically(path, join, mode=0o666)


def compile_c(source: str, triple: str) -> bytes:
    """The object of a C source for ``triple``; LibraryError without a compiler for it, or if it fails."""
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

    The compiler for ``triple`` makes it of a file with the bytes. Errors as of ``compile_c``."""
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
    )  # which need not be executable
    lines = [section, f".globl {name}", *kind, ".p2align 6", f"{name}:", f'.incbin "{path}"', *size, *stack]
    text, output = folder / "data.s", folder / "data.o"
    write_file(text, "\n".join([*lines, ""]).encode())
    run_first(
        [[*command, "-c", str(text), "-o", str(output)] for command in c_compilers(triple)],
        f"assembling data for {triple}",
    )
    return output


def as_files(objects: Sequence[bytes | Path], folder: Path) -> list[Path]:
    """``objects`` as files: those given as bytes are written into ``folder``."""
    files = []
    for number, one in enumerate(objects):
        if isinstance(one, (bytes, bytearray, memoryview)):
            files.append(folder / f"{number}.o")
            write_file(files[-1], one)
        else:
            files.append(Path(one))
    return files


def _exports_script(exports: Sequence[str], folder: Path, triple: str) -> Path | None:
    """A file that tells the linker of ``exports``, if it takes one."""
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
    """Threads of the pool run code of the library, so it is never unloaded (``nodelete``)."""
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
    """Whether ``command`` is a linker on its own and no compiler's."""
    return Path(command[0]).name == "ld"


def run_first(commands: Sequence[list[str]], doing: str) -> None:
    """Run ``commands`` until one succeeds; LibraryError with the first one's words if none does."""
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
    if said:  # a tool is there: what it says is the reason, a full disk as well as a wrong symbol
        raise LibraryError(f"{doing} failed: {said[0]}")
    raise LibraryError(f"{doing} failed: {'; '.join(absent)}", hint=HINT)


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A folder that is removed afterwards; LibraryError if none can be made."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=prefix)
    except OSError as error:
        raise LibraryError(f"cannot make a temporary folder: {error}", hint=_ELSEWHERE) from error
    with folder as name:
        yield Path(name)


def write_file(path: Path, content: bytes) -> None:
    """Write a temporary file; a LibraryError names it if it cannot be written."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise LibraryError(f"cannot write {path}: {error.strerror or error}", hint=_ELSEWHERE) from error


def write_atomically(path: str | os.PathLike[str], make: Callable[[Path], object], mode: int = 0o777) -> Path:
    """Have ``make`` write a file beside ``path``, then put it in its place; a failure leaves nothing.

    The file gets the permissions ``mode``, but for those the process's umask takes away. A LibraryError says
    why it cannot be written: a full disk, a folder that is not there or not ours.
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
