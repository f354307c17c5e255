"""Libraries with code for several processor levels: each level is right, and the right one is chosen."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import InputError, LibraryError, TargetError
from tvmlite.machine import cpu_levels
from tvmlite.machine.cpu_checks import checks_of
from tvmlite.machine.features import missing_features
from tvmlite.machine.target import Target
from tvmlite.model.artifact import CompiledModule
from tvmlite.runtime.library import levels as library_levels

TARGET = "llvm -mtriple=x86_64-linux-gnu -num-cores=2"
LEVELS = [one.name for one in cpu_levels.LEVELS]
RNG = np.random.default_rng(0)
CONV = RNG.standard_normal((32, 3, 3, 3)).astype(np.float32) / 4
DENSE = RNG.standard_normal((10, 32)).astype(np.float32) / 4
BIAS = RNG.standard_normal(1 << 16).astype(np.float32)

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64") or shutil.which("cc") is None,
    reason="code for x86-64 is linked and run",
)

MAIN = """
#include <stdio.h>
#include "net.h"
int main(void) {
    static float x[2 * 3 * 8 * 8], y[2 * 10];
    int64_t in_shape[] = {2, 3, 8, 8}, out_shape[] = {2, 10};
    for (int i = 0; i < 2 * 3 * 8 * 8; i++) x[i] = (float)(i % 13) / 8 - 0.5f;
    DLTensor in = {x, {1, 0}, 4, {2, 32, 1}, in_shape, NULL, 0};
    DLTensor out = {y, {1, 0}, 2, {2, 32, 1}, out_shape, NULL, 0};
    const DLTensor *inputs[] = {&in};
    DLTensor *outputs[] = {&out};
    if (net_run_tensors(inputs, 1, outputs, 1) != TVMLITE_OK) {
        int64_t sizes[16];
        fprintf(stderr, "%s", net_last_error());
        return net_shapes(sizes, 1, 2) == 0 || net_cpu_level() != NULL ? 3 : 1;
    }
    fprintf(stderr, "%s", net_cpu_level());
    for (int i = 0; i < 2 * 10; i++) printf("%.9g\\n", y[i]);
    return 0;
}
"""


def network() -> relay.IRModule:
    """A convolution, its mean over pixels, and a dense layer, for any number of images."""
    x = relay.var("x", shape=("n", 3, 8, 8), dtype="float32")
    made = relay.nn.relu(relay.nn.conv2d(x, relay.const(CONV), padding=(1, 1)))
    mean = relay.mean(made, axis=(2, 3))
    return relay.IRModule.from_expr(relay.Function((x,), relay.nn.dense(mean, relay.const(DENSE))))


def expected(x: np.ndarray) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    made = np.maximum(np.einsum("nchwij,ocij->nohw", windows, CONV.astype(np.float64)), 0)
    return made.mean((2, 3)) @ DENSE.T


def compiled(levels: Sequence[str] = LEVELS) -> CompiledModule:
    return tvmlite.compile(network(), TARGET, name="net", cpu_levels=list(levels))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library with all levels, its header, and a program that runs it."""
    made = tmp_path_factory.mktemp("levels")
    lib = compiled()
    lib.export(made / "net.so")
    build(lib, made)
    return made


def build(lib: CompiledModule, folder: Path) -> None:
    lib.export(folder / "net.so")
    lib.export(folder / "net.h")
    (folder / "main.c").write_text(MAIN)
    command = "cc -std=c99 -O1 -Wall -Werror main.c net.so -Wl,-rpath,$ORIGIN -o main"
    subprocess.run(command.split(), cwd=folder, check=True)


def run(folder: Path, level: str = "", emulated: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(folder / "main")]
    if emulated:
        if shutil.which("qemu-x86_64-static") is None:
            pytest.skip("no qemu-x86_64-static (apt install qemu-user-static)")
        command = ["qemu-x86_64-static", "-cpu", emulated, *command]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"TVMLITE_CPU_LEVEL": level}
    )
    words = [one for one in done.stderr.splitlines() if not one.startswith("qemu-x86_64-static: warning")]
    return subprocess.CompletedProcess(command, done.returncode, done.stdout, "\n".join(words))


def is_right(printed: str) -> None:
    x = ((np.arange(2 * 3 * 8 * 8) % 13) / 8 - 0.5).astype("float32").reshape(2, 3, 8, 8)
    made = np.array(printed.split(), np.float32).reshape(2, 10)
    np.testing.assert_allclose(made, expected(x), rtol=1e-4, atol=1e-5)


def runs_here(level: str) -> bool:
    target = cpu_levels.targets_of(Target.parse(TARGET), [level], Target.parse("native"))[level]
    return not missing_features(target.instructions)


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_that_runs_here_computes_the_right_result(
    level: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not runs_here(level):
        pytest.skip("this processor lacks it")
    monkeypatch.setenv("TVMLITE_CPU_LEVEL", level)
    lib = runtime.load(folder / "net.so")
    x = RNG.standard_normal((5, 3, 8, 8)).astype("float32")
    assert lib.cpu_level == level
    np.testing.assert_allclose(lib(x), expected(x), rtol=1e-4, atol=1e-5)
    assert len(lib.profile(x).labels) == len(lib.profile(x).kernels)

    done = run(folder, level)
    assert (done.returncode, done.stderr) == (0, level)
    is_right(done.stdout)


def test_python_and_c_choose_the_same_level(folder: Path) -> None:
    best = [level for level in LEVELS if runs_here(level)][-1]
    assert runtime.load(folder / "net.so").cpu_level == best
    assert run(folder).stderr == best


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processor", "level"), [("qemu64", "baseline"), ("Nehalem", "baseline"), ("Haswell", "avx2")]
)
def test_an_emulated_processor_runs_its_best_level(processor: str, level: str, folder: Path) -> None:
    done = run(folder, emulated=processor)
    assert (done.returncode, done.stderr) == (0, level)
    is_right(done.stdout)


@pytest.mark.slow
def test_error_on_a_processor_without_any_level_lists_what_it_lacks(tmp_path: Path) -> None:
    build(compiled(["avx2", "avx512"]), tmp_path)
    done = run(tmp_path, emulated="Nehalem")
    assert done.returncode == 1
    assert done.stderr == (
        "net: was compiled for avx2, avx512; even for the first of these this processor lacks "
        "avx, fma, f16c, lzcnt, bmi, bmi2, avx2"
    )


@pytest.mark.slow
def test_a_library_for_a_newer_processor_is_refused_with_a_message(tmp_path: Path) -> None:
    build(tvmlite.compile(network(), f"{TARGET} -mcpu=haswell", name="net"), tmp_path)
    done = run(tmp_path, emulated="Nehalem")
    assert done.returncode == 1
    assert done.stderr.startswith("net: was compiled for haswell; this processor lacks avx, fma")
    assert run(tmp_path, emulated="Haswell").returncode == 0


@pytest.mark.slow
def test_a_level_beyond_the_processor_cannot_be_forced(folder: Path) -> None:
    done = run(folder, "avx512", emulated="Haswell")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "net: TVMLITE_CPU_LEVEL is 'avx512', for which this processor lacks avx512f"
    )


def test_a_level_that_a_library_lacks_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_CPU_LEVEL", "sse9")
    with pytest.raises(LibraryError, match=r"TVMLITE_CPU_LEVEL is 'sse9', .*net\.so has baseline, avx2, avx"):
        runtime.load(folder / "net.so")
    done = run(folder, "sse9")
    assert done.returncode == 1
    assert done.stderr == f"net: TVMLITE_CPU_LEVEL is 'sse9', the library has {', '.join(LEVELS)}"


def test_error_of_loading_says_what_the_processor_lacks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_levels, "missing_features", lambda names: sorted(names)[:2])
    with pytest.raises(LibraryError, match=r"compiled for baseline, avx2.* even for the first of these this"):
        runtime.load(folder / "net.so")
    monkeypatch.setenv("TVMLITE_CPU_LEVEL", "avx2")
    with pytest.raises(LibraryError, match=r"is 'avx2', for which this processor lacks avx, avx2"):
        runtime.load(folder / "net.so")


def test_weights_shared_by_all_levels_are_stored_once(tmp_path: Path) -> None:
    x = relay.var("x", shape=(1, 1 << 16), dtype="float32")
    module = relay.IRModule.from_expr(relay.Function((x,), relay.add(x, relay.const(BIAS))))
    tvmlite.compile(module, TARGET, name="net", cpu_levels=LEVELS).export(tmp_path / "net.so")
    size = (tmp_path / "net.so").stat().st_size
    assert BIAS.nbytes < size < 2 * BIAS.nbytes


def test_static_libraries_and_archives_have_levels(tmp_path: Path) -> None:
    lib = compiled(["baseline", "avx2"])
    for ending in (".a", ".o", ".h", ".tar"):
        lib.export(tmp_path / f"net{ending}")
    (tmp_path / "main.c").write_text(MAIN)
    for ending in (".a", ".o"):
        command = f"cc -std=c99 -O1 main.c net{ending} -lm -lpthread -o main"
        subprocess.run(command.split(), cwd=tmp_path, check=True)
        is_right(run(tmp_path, "baseline").stdout)
    named = [row["name"] for row in runtime.read_metadata(tmp_path / "net.tar")["levels"]]
    assert named == ["baseline", "avx2"]


def test_the_compiling_process_runs_the_highest_level() -> None:
    lib = compiled(["avx512", "baseline"])
    x = RNG.standard_normal((2, 3, 8, 8)).astype("float32")
    assert [level.name for level in lib.levels] == ["baseline", "avx512"]
    np.testing.assert_allclose(lib(x), expected(x), rtol=1e-4, atol=1e-5)
    assert (lib.target.vector_bits == 512) == runs_here("avx512")


def test_every_instruction_set_of_every_level_is_checked() -> None:
    for target in cpu_levels.targets_of(Target.parse(TARGET), LEVELS, Target.parse("native")).values():
        assert {one.name for one in checks_of(target.triple, target.instructions)} == target.instructions


@pytest.mark.parametrize(
    ("levels", "target", "text"),
    [
        (["avx3"], TARGET, "there is no level 'avx3'; levels are baseline, avx2, avx512, vnni, amx"),
        ([], TARGET, r"expected some of baseline, .*, each once, got \[\]"),
        (["avx2", "avx2"], TARGET, r"each once, got \['avx2', 'avx2'\]"),
        (["avx2"], "c", "target 'c' has no CPU levels: only x86-64 targets have"),
        (["avx2"], "llvm -mtriple=aarch64-linux-gnu", "has no CPU levels: only x86-64 targets have"),
        (["avx2"], f"{TARGET} -mcpu=haswell", "names a processor, but cpu_levels choose it"),
        ([2], TARGET, "cpu_levels"),
    ],
)
def test_invalid_levels_are_errors(levels: list[str], target: str, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        tvmlite.compile(network(), target, cpu_levels=levels)


def test_c_source_has_no_levels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"C source cannot contain CPU levels"):
        compiled(["baseline", "avx2"]).export(tmp_path / "net.c")
    with pytest.raises(InputError, match=r"cpu_levels is 'avx2', expected a list of names"):
        tvmlite.compile(network(), TARGET, cpu_levels="avx2")


def test_a_library_cannot_be_named_tvmlite(tmp_path: Path) -> None:
    lib = tvmlite.compile(network(), name="tvmlite")
    with pytest.raises(InputError, match="a library cannot be called 'tvmlite'"):
        lib.export(tmp_path / "net.so")
