"""The same model and target give the same bytes, in another process and on another kind of machine."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

PROGRAM = """
import sys
import numpy as np
from tvmlite.machine import cores as of_process, features, processor

cpu, cores, folder, target, levels = sys.argv[1:]
if cpu:
    processor.host = lambda: ("x86_64-unknown-linux-gnu", cpu, ())
    features._flags = lambda: frozenset({"sse", "sse2"})
if cores:
    of_process.processors = lambda: int(cores)

import tvmlite
from tvmlite import relay

rng = np.random.default_rng(0)
x = relay.var("x", shape=("n", 16, 14, 14), dtype="float32")
weight = relay.const(rng.standard_normal((64, 16, 3, 3)).astype("float32"))
dense = relay.const(rng.standard_normal((200, 64)).astype("float32"))
made = relay.nn.relu(relay.nn.conv2d(x, weight, padding=(1, 1)))
made = relay.nn.softmax(relay.nn.dense(relay.mean(made, axis=(2, 3)), dense))
options = {"cpu_levels": levels.split(",")} if levels else {}
lib = tvmlite.compile(relay.Function((x,), made), target, name="net", **options)
assert levels or str(lib.target.cpu) != cpu or not cpu
for ending in (".so", ".o", ".a", ".tar", ".h"):
    lib.export(f"{folder}/net{ending}")
"""


def exported(folder: Path, target: str, levels: str = "", cpu: str = "", cores: str = "") -> dict[str, str]:
    """Digests of all exports of a process that pretends to run on ``cores`` cores of a ``cpu``."""
    folder.mkdir()
    command = [sys.executable, "-c", PROGRAM, cpu, cores, str(folder), target, levels]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TVMLITE_CACHE": "off"})
    assert done.returncode == 0, done.stderr
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


NAMED = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -num-cores=8"
LEVELS = "llvm -mtriple=x86_64-unknown-linux-gnu -num-cores=8"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "levels"),
    [
        pytest.param(NAMED, "", marks=pytest.mark.exhaustive),
        pytest.param(LEVELS, "baseline,avx2,avx512", marks=pytest.mark.exhaustive),
    ],
)
def test_bytes_for_a_named_target_do_not_depend_on_the_machine(
    target: str, levels: str, tmp_path: Path
) -> None:
    here = exported(tmp_path / "here", target, levels)
    assert len(here) == 5
    assert exported(tmp_path / "again", target, levels) == here
    assert exported(tmp_path / "small", target, levels, cpu="nehalem", cores="1") == here
    assert exported(tmp_path / "large", target, levels, cpu="znver5", cores="64") == here


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_target_without_cores_uses_those_of_the_process(tmp_path: Path) -> None:
    target = NAMED.replace(" -num-cores=8", "")
    one, many = (exported(tmp_path / cores, target, cores=cores) for cores in ("1", "8"))
    assert one != many
    assert many == exported(tmp_path / "named", NAMED)
