"""Conversion of a model's archive into a shared library: its code is linked, or compiled and linked."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tvmlite.core.errors import LibraryError
from tvmlite.machine.triple import Triple
from tvmlite.runtime.library import levels, link, model_library


def link_archive(archive: Path, folder: Path) -> Path:
    """The shared library, in ``folder``, of the code in ``archive``.

    All digests are verified first, and files are written only to ``folder``, under checked names. Raises
    LibraryError if the code is for another machine, lacks a part, or cannot be linked or compiled here.
    """
    text, files = model_library.read_code(archive)
    fields = json.loads(text)
    target = str(fields.get("target", ""))
    _check_target(archive, target)
    static = [content for name, content in files.items() if name.endswith(".a")]
    made = folder / "model.so"
    if len(static) == 1:
        levels.select_level(archive, fields)  # raises before a linker is searched for
        library = folder / "model.a"
        link.write_file(library, static[0])
        return link.shared([library], made, metadata=text, whole=True)
    sources = {name: content for name, content in files.items() if name.endswith((".c", ".h"))}
    if static or not any(name.endswith(".c") for name in sources):
        raise LibraryError(f"{archive} has neither one static library nor C source")
    return link.shared(_compile_sources(archive, sources, folder), made, metadata=text)


def _check_target(archive: Path, target: str) -> None:
    triple = re.search(r"-mtriple=(\S+)", target)
    if triple is not None and not Triple.parse(triple[1]).is_native:
        raise LibraryError(f"{archive} is for {triple[1]}, which is another kind of machine than this one")
    if target.startswith("c ") and re.search(r"-system=|-mcpu=", target):
        raise LibraryError(
            f"{archive} is source for a machine without an operating system ({target!r})",
            hint="its program calls it: docs/microcontrollers.md",
        )


def _compile_sources(archive: Path, sources: dict[str, bytes], folder: Path) -> list[bytes | Path]:
    """The object files of the C sources."""
    compilers = link.c_compilers()
    if not compilers:
        raise LibraryError(f"{archive} is C source, and there is no C compiler", hint=link.HINT)
    for name in sources:
        if not re.fullmatch(r"\w{1,200}\.[ch]", name, re.ASCII):
            raise LibraryError(f"{archive} is damaged: {name!r} is no name of a source")
        link.write_file(folder / name, sources[name])
    objects: list[bytes | Path] = []
    for name in (name for name in sources if name.endswith(".c")):
        output = folder / f"{name}.o"
        command = [*compilers[0], *link.C_FLAGS, "-c", str(folder / name), "-o", str(output)]
        link.run_first([command], f"compiling {name} of {archive}")
        objects.append(output)
    return objects
