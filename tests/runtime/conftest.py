"""C functions with tvmlite's calling convention, compiled by gcc, for the runtime to call."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tvmlite.core.abi.signature import Signature
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.pool import pool


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ctypes.CDLL]:
    """Compile C source together with the thread pool and load the library."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")

    def compile_source(source: str) -> ctypes.CDLL:
        folder: Path = tmp_path_factory.mktemp("c")
        (folder / "code.c").write_text(pool.source() + source)
        command = [
            "gcc",
            "-std=c99",
            "-O2",
            "-shared",
            "-fPIC",
            "code.c",
            "-o",
            "code.so",
            "-lpthread",
            "-lm",
        ]
        subprocess.run(command, cwd=folder, check=True)
        return ctypes.CDLL(str(folder / "code.so"))

    return compile_source


@pytest.fixture(scope="session")
def compile_function(compile_c: Callable[[str], ctypes.CDLL]) -> Callable[..., CompiledFunction]:
    """Compile a signature and the bodies of the function and of ``NAME_shapes`` to a callable."""

    def build(signature: Signature, body: str, shapes: str = "") -> CompiledFunction:
        source = f"{signature.c_prototype()} {{ {body} }}\n"
        if shapes:
            source += f"{signature.c_shapes_prototype()} {{ (void)threads; {shapes} return 0; }}\n"
        library = compile_c(source)
        address = ctypes.cast(getattr(library, signature.name), ctypes.c_void_p).value
        told = (
            ctypes.cast(getattr(library, f"{signature.name}_shapes"), ctypes.c_void_p).value if shapes else 0
        )
        assert address is not None
        return CompiledFunction(signature, address, told or 0, keep=library)

    return build
