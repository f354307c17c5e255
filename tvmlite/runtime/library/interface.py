"""The C interface of compiled models: its C source, and the LLVM IR generated from it.

Developers run ``python -m tvmlite.runtime.library.interface`` to generate the ``.ll`` files again with
ziglang's clang.
"""

from __future__ import annotations

from pathlib import Path

from tvmlite.core.abi.signature import Signature
from tvmlite.machine.triple import Triple
from tvmlite.runtime.c_text import CText

TEXT = CText(Path(__file__).with_name("interface.c"), "tvmlite.runtime.library.interface", "-Os")
"""``interface.c``, which is compiled for the baseline processor, as it detects the actual one."""

FUNCTIONS = (
    "run_tensors",
    "run_tensors_in",
    "workspace_bytes",
    "last_error",
    "metadata",
    "cpu_level",
    "set_num_threads",
    "num_threads",
)
"""The functions that a library exports besides NAME and NAME_shapes: NAME_run_tensors, and so on."""

_SYSTEMS = ("linux", "macos", "windows", "freebsd", "netbsd")


def is_for(triple: str) -> bool:
    """Whether libraries for ``triple`` have the interface, which needs an operating system for memory and
    threads."""
    return Triple.parse(triple).system in _SYSTEMS


def symbols(signature: Signature) -> list[str]:
    """The symbols of the interface of the model with this signature."""
    return [f"{signature.name}_{one}" for one in FUNCTIONS]


if __name__ == "__main__":
    TEXT.write_all()
