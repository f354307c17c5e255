"""One shared library from object files, with whatever linker the machine has."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import seal, segment

HINT = "install a C compiler (apt install gcc, xcode-select --install), or: pip install ziglang"

_ELSEWHERE = "the environment variable TMPDIR names the folder for temporary files"

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


def c_compilers(triple: str = "") -> list[list[str]]:
    """The commands of the C compilers there are, best first; for another machine, those that know it."""
    found = []
    if is_native(triple):
        found = [[path] for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    elif path := shutil.which(f"{triple}-gcc"):
        found = [[path]]
    if importlib.util.find_spec("ziglang") is not None:
        command = [sys.executable, "-m", "ziglang", "cc"]
        found.append(command if is_native(triple) else [*command, "-target", _zig_triple(triple)])
    return found


def linkers(triple: str = "") -> list[list[str]]:
    """The commands that make a shared library: the C compilers, and ``ld`` on its own."""
    found = c_compilers(triple)
    if is_native(triple) and sys.platform == "linux" and (path := shutil.which("ld")):
        found.append([path])
    return found


def is_native(triple: str) -> bool:
    """Whether code for ``triple`` ("": not said) runs on this machine."""
    if not triple:
        return True
    machine = platform.machine().lower()
    architecture = triple.split("-")[0].lower()
    same = _ARCHITECTURES.get(architecture, architecture) == _ARCHITECTURES.get(machine, machine)
    system = {"linux": "linux", "darwin": "apple", "win32": "windows"}.get(sys.platform, sys.platform)
    return same and system in triple


def _zig_triple(triple: str) -> str:
    """LLVM's ``aarch64-unknown-linux-gnu`` as zig's ``aarch64-linux-gnu``."""
    return "-".join(part for part in triple.split("-") if part not in ("unknown", "pc"))


def shared(
    objects: Sequence[bytes | Path],
    path: str | os.PathLike[str],
    exports: Sequence[str] = (),
    triple: str = "",
    data: tuple[str, np.ndarray] | None = None,
    metadata: str = "",
) -> Path:
    """Link ``objects`` (their bytes, or files) into the shared library ``path``, and return that.

    Only the symbols ``exports`` are visible from outside, if any are named. ``data`` is a symbol
    that the objects refer to, and its bytes, uint8, of any number (``segment``). With ``metadata`` the file
    is one that ``runtime.load`` accepts (``seal``). It appears whole or not at all. Raises LibraryError when
    there is no linker, or it fails, or a file cannot be written.
    """
    commands = linkers(triple)
    if not commands:
        what = f"for target {triple!r}" if triple else "on this machine"
        raise LibraryError(f"cannot link {os.fspath(path)!r}: there is no linker {what}", hint=HINT)
    every = [*objects, segment.stand_in(data[0], triple)] if data else objects
    with temporary_folder("tvmlite-link-") as folder:
        files = [_as_file(one, folder / f"{i}.o") for i, one in enumerate(every)]
        script = _exports_script(exports, folder, triple)

        def link(output: Path) -> None:
            run_first([_link_command(c, files, output, script, triple) for c in commands], f"linking {path}")
            if data:
                segment.append(output, data[1])
            if metadata:
                seal.append(output, metadata)

        return write_atomically(path, link)


def relocatable(objects: Sequence[bytes | Path], path: str | os.PathLike[str]) -> Path:
    """Join ``objects`` into one object, to be linked later, and return its path; errors as of ``shared``."""
    commands = linkers()
    if not commands:
        raise LibraryError(f"cannot write {os.fspath(path)!r}: there is no linker on this machine", hint=HINT)
    with temporary_folder("tvmlite-link-") as folder:
        files = [str(_as_file(one, folder / f"{i}.o")) for i, one in enumerate(objects)]

        def join(output: Path) -> None:
            joined = [
                [*c, "-r", *([] if Path(c[0]).name == "ld" else ["-nostdlib"]), "-o", str(output), *files]
                for c in commands
            ]
            run_first(joined, f"joining {path}")

        return write_atomically(path, join)


def _as_file(one: bytes | Path, path: Path) -> Path:
    if isinstance(one, (bytes, bytearray, memoryview)):
        write_file(path, one)
        return path
    return Path(one)


def _exports_script(exports: Sequence[str], folder: Path, triple: str) -> Path | None:
    linux = "linux" in triple if triple else sys.platform == "linux"
    if not exports or not linux:
        return None
    script = folder / "exports.map"
    write_file(script, ("{ global: " + " ".join(f"{name};" for name in exports) + " local: *; };\n").encode())
    return script


def _link_command(
    command: list[str], files: Sequence[Path], output: Path, script: Path | None, triple: str
) -> list[str]:
    alone = Path(command[0]).name == "ld"
    options = [] if sys.platform != "linux" and not triple else ["-Bsymbolic", "-z,noexecstack"]
    options += [f"--version-script={script}"] if script else []
    passed = (
        [word for option in options for word in option.split(",")] if alone else [f"-Wl,{o}" for o in options]
    )
    libraries = ["-lm", "-lc"] if alone else ["-lm", "-lpthread"]
    return [*command, "-shared", "-o", str(output), *map(str, files), *passed, *libraries]


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
