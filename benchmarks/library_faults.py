"""Load and run damaged libraries, with random bytes changed or the end cut off, each in its own process.

    python benchmarks/library_faults.py
    python benchmarks/library_faults.py --flips 500 --truncations 100 --seed 0

This is done with a shared library and with an archive. Each damaged file must be refused with a
``LibraryError``, or be harmless: it gives the same bits as the intact one. The exit status is 1 if one gives
another result, ends its process, or raises another error.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import LibraryError

REFUSED, HARMLESS, WRONG, OTHER = 10, 11, 12, 13
"""Exit statuses of the process that loads a damaged library."""

SECONDS = 60
"""Seconds after which such a process is ended."""


def exported(folder: Path) -> list[Path]:
    """Export a small convolution network as a shared library and as an archive."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 8, 16, 16), dtype="float32")
    first = relay.const(rng.standard_normal((32, 8, 3, 3)).astype("float32"))
    second = relay.const(rng.standard_normal((64, 32, 3, 3)).astype("float32"))
    made = relay.nn.conv2d(relay.nn.relu(relay.nn.conv2d(x, first, padding=(1, 1))), second, padding=(1, 1))
    lib = tvmlite.compile(relay.Function((x,), made), name="net")
    paths = [folder / "net.so", folder / "net.tar"]
    for path in paths:
        lib.export(path)
    return paths


def damaged(whole: bytes, flips: int, truncations: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Copies of ``whole`` with one byte changed, then copies that are cut off."""
    rng = np.random.default_rng(seed)
    for place in rng.integers(0, len(whole), flips).tolist():
        value = whole[place] ^ int(rng.integers(1, 256))
        yield f"byte {place} changed", whole[:place] + bytes([value]) + whole[place + 1 :]
    for keep in rng.integers(0, len(whole), truncations).tolist():
        yield f"cut off at {keep}", whole[:keep]


def outcome(path: Path, x: np.ndarray, expected: np.ndarray) -> int:
    """The exit status, or the negative number of the signal, of a process that loads and runs ``path``."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            status = HARMLESS if np.array_equal(runtime.load(path)(x), expected) else WRONG
        except LibraryError:
            status = REFUSED
        except BaseException as error:
            print(f"{path}: {error!r}", file=sys.stderr)
            status = OTHER
        os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> int:
    """Print a line for each kind of file; return 1 if one was neither refused nor harmless."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--truncations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    x = np.random.default_rng(1).standard_normal((1, 8, 16, 16)).astype("float32")
    bad = 0
    with tempfile.TemporaryDirectory(prefix="tvmlite-faults-") as place:
        for path in exported(Path(place)):
            whole, counts = path.read_bytes(), Counter[int]()
            copy = path.with_name(f"whole{path.suffix}")
            copy.write_bytes(whole)
            runtime.set_num_threads(1)  # so that the process that forks has no pool threads
            expected = runtime.load(copy)(x)
            for what, content in damaged(whole, options.flips, options.truncations, options.seed):
                path.write_bytes(content)
                status = outcome(path, x, expected)
                counts[status] += 1
                if status not in (REFUSED, HARMLESS):
                    print(f"{path.name}, {what}: status {status}")
                    bad += 1
            crashes = sum(number for status, number in counts.items() if status < 0)
            print(
                f"{path.name}, {len(whole) / 1e3:.0f} kB: {counts[REFUSED]} refused, "
                f"{counts[HARMLESS]} harmless, {counts[WRONG]} wrong, {crashes} crashes, "
                f"{counts[OTHER]} other errors",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
