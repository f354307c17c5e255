"""Compare the peak memory of compiling models with that of a process in which ONNX Runtime loads them.

    python benchmarks/memory.py [resnet50 light_resnet50 bert_base] [--error-bound 1e-4] [--bar 1.3]

Each model is written to a file, and each measurement runs in its own process, with an empty cache: ONNX
Runtime creates a session from the file (one thread, otherwise its defaults); ``tvmlite.compile`` compiles it;
the command ``tvmlite compile`` writes a library. A peak is Linux's ``VmHWM``: the largest resident memory of
the process, including files that it maps. The last columns also include the processes that it starts: the
largest sum of ``VmRSS``, sampled every 5 ms. This sum counts memory that forked processes share once for
each, and when a linker is started it may count the process twice for a moment. Ratios are relative to ONNX
Runtime's peak; the exit status is 1 if the ratio of a peak exceeds ``--bar``.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = {
    "onnxruntime": """
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
""",
    "compile": """
import tvmlite
from tvmlite.relay.frontend import from_onnx
lib = tvmlite.compile(from_onnx(sys.argv[1]), error_bound=float(sys.argv[2]))
""",
    "command": """
from tvmlite.cli import main
assert main(["compile", sys.argv[1], "-o", sys.argv[1] + ".so", "--error-bound", sys.argv[2]]) == 0
""",
}
"""The code of the processes; its arguments are the file and the error bound."""

PEAK = """
print(open("/proc/self/status").read())
"""

MODEL = """
import networks
open(sys.argv[2], "wb").write(networks.model(sys.argv[1]).SerializeToString())
"""

INTERVAL = 0.005
"""Seconds between two samples of the memory of all processes."""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=["resnet50", "light_resnet50"])
    parser.add_argument("--error-bound", type=float, default=0.0)
    parser.add_argument("--bar", type=float, default=1.3)
    options = parser.parse_args()
    above = 0
    print(f"{'model':20} {'process':12} {'peak MB':>8} {'ratio':>5} {'all MB':>7} {'ratio':>5}")
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            _run(MODEL, Path(folder), name, path)
            theirs = 0.0
            for step, code in STEPS.items():
                peak, together = _run(code, Path(folder), path, options.error_bound)
                theirs = theirs or peak
                ratios = peak / theirs, together / theirs
                print(
                    f"{name:20} {step:12} {peak:8.0f} {ratios[0]:5.2f} {together:7.0f} {ratios[1]:5.2f}",
                    flush=True,
                )
                above += ratios[0] > options.bar
    return int(above > 0)


def _run(code: str, folder: Path, *arguments: object) -> tuple[float, float]:
    """The peak megabytes of a process that runs ``code``, without and with the processes that it starts."""
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        words = [sys.executable, "-c", f"import sys\n{code}{PEAK}", *map(str, arguments)]
        environment = {**os.environ, "TVMLITE_CACHE": cache}
        environment["PYTHONPATH"] = str(Path(__file__).parent)
        output, together = folder / "output", 0.0
        with output.open("w") as file:
            process = subprocess.Popen(words, env=environment, stdout=file, start_new_session=True)
            while process.poll() is None:
                together = max(together, _megabytes_of_session(process.pid))
                time.sleep(INTERVAL)
        if process.returncode:
            raise SystemExit(f"a process ended with {process.returncode}: {' '.join(words)}")
        peak = re.search(r"VmHWM:\s+(\d+) kB", output.read_text())
        assert peak is not None
        return int(peak[1]) * 1024 / 1e6, together


def _megabytes_of_session(session: int) -> float:
    """The resident memory of all processes of ``session``, added up."""
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                # the fields after the name in brackets: state, parent, group, session
                if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                    found = re.search(r"VmRSS:\s+(\d+) kB", (entry / "status").read_text())
                    total += int(found[1]) if found else 0
            except OSError:  # the process has just ended
                continue
    return total * 1024 / 1e6


if __name__ == "__main__":
    sys.exit(main())
