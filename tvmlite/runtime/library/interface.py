"""The texts of the C interface of compiled models: its C source, and the LLVM IR made from it.

``python -m tvmlite.runtime.library.interface`` makes the ``.ll`` files again with ziglang's clang: a
developer's step.
"""

from __future__ import annotations

from pathlib import Path

from tvmlite.core.abi.signature import Signature
from tvmlite.machine.triple import Triple
from tvmlite.runtime.c_text import CText

TEXT = CText(Path(__file__).with_name("interface.c"), "tvmlite.runtime.library.interface", "-Os")
"""``interface.c``, which is compiled for the plainest processor: it finds out which one there is."""

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
"""What a library of the model NAME exports besides NAME and NAME_shapes: NAME_run_tensors, and so on."""

_SYSTEMS = ("linux", "macos", "windows", "freebsd", "netbsd")


def is_for(triple: str) -> bool:
    """Whether libraries for ``triple`` have the interface: it needs a system, for memory and threads."""
    return Triple.parse(triple).system in _SYSTEMS


def symbols(signature: Signature) -> list[str]:
    """The functions of the interface of the model with this signature."""
    return [f"{signature.name}_{one}" for one in FUNCTIONS]


if __name__ == "__main__":
    TEXT.write_all()
