"""The programs of ``tutorials/19_embedding`` build, and compute the expected results."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.model.artifact import CompiledModule

EXAMPLES = Path(__file__).parents[1] / "tutorials" / "19_embedding"
X = (np.arange(24) / 10).astype("float32").reshape(3, 8)

BOARD = """
#include <stdio.h>
float readSensor(int channel) { return (float)channel / 10; }
void report(int index, float value) { (void)index; printf("%.6f\\n", value); }
void setup();
void loop();
int main() { setup(); loop(); }
"""


RNG = np.random.default_rng(0)
FIRST, SECOND = (RNG.standard_normal(shape).astype("float32") for shape in ((16, 8), (4, 16)))


def expected() -> np.ndarray:
    scores = np.maximum(X.astype(np.float64) @ FIRST.T, 0) @ SECOND.T
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def compiled(target: str = "native") -> CompiledModule:
    x = relay.var("x", shape=(3, 8), dtype="float32")
    hidden = relay.nn.relu(relay.nn.dense(x, relay.const(FIRST)))
    scores = relay.nn.dense(hidden, relay.const(SECOND))
    return tvmlite.compile(relay.Function((x,), relay.nn.softmax(scores)), target=target, name="net")


def outputs(command: list[str], folder: Path) -> np.ndarray:
    """Build a program with ``command`` and return the numbers that it prints."""
    if shutil.which(command[0]) is None or subprocess.run([command[0], "--version"]).returncode != 0:
        pytest.skip(f"no {command[0]}, or one without a toolchain")
    subprocess.run([*command, "-o", "main"], cwd=folder, check=True)
    text = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=True).stdout
    return np.array(text.split(), np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("main.c", "cc -std=c11 -O2 -Wall -Wextra -Werror main.c net.a -lm -lpthread"),
        ("main.cpp", "c++ -std=c++17 -O2 -Wall -Wextra -Werror main.cpp net.a -lm -lpthread"),
        ("main.rs", "rustc -O main.rs -L . -l static=net -l pthread -l m"),
    ],
)
def test_a_program_with_the_static_library_computes_the_same(
    source: str, command: str, tmp_path: Path
) -> None:
    lib = compiled()
    lib.export(tmp_path / "net.a")
    lib.export(tmp_path / "net.h")
    shutil.copy(tmp_path / "net.a", tmp_path / "libnet.a")
    shutil.copy(EXAMPLES / source, tmp_path)
    assert (lib.signature.workspace or 0) <= 1 << 16

    np.testing.assert_allclose(outputs(command.split(), tmp_path), expected(), atol=2e-6)


@pytest.mark.parametrize("ending", [".so", ".a", ".o"])
@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("tensors.c", "cc -std=c99 -pedantic -O2 -Wall -Wextra -Wconversion -Werror"),
        ("tensors.cpp", "c++ -std=c++17 -pedantic -O2 -Wall -Wextra -Wconversion -Werror"),
    ],
)
def test_a_program_with_dlpack_arrays_computes_the_same(
    source: str, command: str, ending: str, tmp_path: Path
) -> None:
    lib = compiled()
    lib.export(tmp_path / f"net{ending}")
    lib.export(tmp_path / "net.h")
    shutil.copy(EXAMPLES / source, tmp_path)
    linked = [f"net{ending}", "-Wl,-rpath,$ORIGIN", "-lm", "-lpthread"]

    np.testing.assert_allclose(outputs([*command.split(), source, *linked], tmp_path), expected(), atol=2e-6)


def test_a_microcontroller_sketch_computes_the_same(tmp_path: Path) -> None:
    compiled("c -system=none").export(tmp_path / "net.c")
    shutil.copy(EXAMPLES / "sketch.cpp", tmp_path)
    (tmp_path / "board.cpp").write_text(BOARD)
    if shutil.which("cc") is None:
        pytest.skip("no cc")
    subprocess.run("cc -std=c99 -O2 -c net.c".split(), cwd=tmp_path, check=True)

    made = outputs(
        "c++ -std=c++17 -O2 -Wall -Wextra -Werror sketch.cpp board.cpp net.o -lm".split(), tmp_path
    )
    np.testing.assert_allclose(made, expected(), atol=2e-6)
