"""Time a model's exported library in a separate process that only loads it.

Users deploy the file. In the process that compiled it, memory has been used before and weights are at other
addresses, so the time in that process may differ from that in a process which only loads it.

    python benchmarks/exported.py LIBRARY INPUTS.npz THREADS CLOCK      the process itself: see ``Exported``
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from interleaved import CLOCKS, measure

from tvmlite import runtime

if TYPE_CHECKING:
    from tvmlite.model.artifact import CompiledModule

BAR = 1.05
"""The limit of the exported library's time, relative to the time in the process that compiled it."""


class Exported:
    """``lib``, exported and loaded by a process whose runs alternate with this one's; a context manager."""

    def __init__(
        self, lib: CompiledModule, inputs: Mapping[str, np.ndarray], threads: int, clock: str = "wall"
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tvmlite-exported-")
        library, given = Path(self._folder.name) / "model.so", Path(self._folder.name) / "inputs.npz"
        lib.export(library)
        arrays: dict[str, Any] = {str(place): inputs[name] for place, name in enumerate(lib.input_names)}
        np.savez(given, **arrays)
        command = [sys.executable, __file__, str(library), str(given), str(threads), clock]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, seconds: float) -> list[float]:
        """The seconds of each call in a measurement of ``seconds`` seconds, after a call that warms up."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(seconds, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process with the exported library ended with {self._process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Exported:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # closes its input, so that it ends
        self._folder.cleanup()


def main() -> None:
    """Load the library; for each line of input, a number of seconds, print the times of a measurement."""
    library, given, threads, clock = sys.argv[1:]
    runtime.set_num_threads(int(threads))
    lib = runtime.load(library)
    with np.load(given) as arrays:
        inputs = {name: arrays[str(place)] for place, name in enumerate(lib.input_names)}
    for line in sys.stdin:
        print(json.dumps(measure(lambda: lib.run(inputs), float(line), CLOCKS[clock])), flush=True)


if __name__ == "__main__":
    main()
