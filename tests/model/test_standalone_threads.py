"""C for machines without an operating system on threads of the caller: the same results, no races."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.machine.target import Target
from tvmlite.relay.ir.nodes import Module

TARGET = "c -system=none -num-cores=3"

POOL = """
#include <pthread.h>
#include <stdlib.h>

typedef void (*work)(void *closure, int32_t begin, int32_t end, int32_t thread);
struct part { work body; void *closure; int32_t begin, end, thread; };
static int calls, threads_seen[3];

static void *run_part(void *given) {
    struct part *own = given;
    if (own->begin < own->end) {
        own->body(own->closure, own->begin, own->end, own->thread);
    }
    return NULL;
}

/* Three threads, the last of which is the caller's. */
static void parallel_for(void *context, work body, void *closure, int32_t extent) {
    pthread_t started[2];
    struct part parts[3];
    ++*(int *)context;
    for (int32_t k = 0; k < 3; ++k) {
        parts[k] = (struct part){body, closure, extent * k / 3, extent * (k + 1) / 3, k};
        threads_seen[k] += parts[k].begin < parts[k].end;
    }
    for (int32_t k = 0; k < 2; ++k) {
        if (pthread_create(&started[k], 0, run_part, &parts[k]) != 0) {
            abort();
        }
    }
    run_part(&parts[2]);
    for (int32_t k = 0; k < 2; ++k) {
        pthread_join(started[k], 0);
    }
}

static int32_t on_threads(const float *x, float *y) {
    static double arena[(NET_ARENA_BYTES + 7) / 8 + 1];
    static const net_parallel parallel = {parallel_for, &calls};
    return net(x, y, arena, &parallel);
}
"""


def weight(*shape: int) -> relay.Constant:
    drawn = np.random.default_rng(shape).standard_normal(shape)
    return relay.const((drawn / np.sqrt(np.prod(shape[1:]))).astype("float32"))


def floats() -> Module:
    """3x3, depthwise and 1x1 convolutions, a pooling, a dense layer."""
    x = relay.var("x", shape=(1, 8, 24, 24))
    y = relay.nn.relu(relay.nn.conv2d(x, weight(16, 8, 3, 3), padding=(1, 1)))
    y = relay.nn.relu(relay.nn.conv2d(y, weight(16, 1, 5, 5), padding=(2, 2), groups=16))
    y = relay.nn.max_pool2d(relay.nn.conv2d(y, weight(32, 16, 1, 1)), (2, 2), (2, 2))
    return Module.from_expr(
        relay.Function((x,), relay.nn.dense(relay.reshape(y, (1, 4608)), weight(40, 4608)))
    )


def codes() -> Module:
    """The same model in int8."""
    module = floats()
    draw = np.random.default_rng(0)
    data = [{"x": draw.standard_normal((1, 8, 24, 24)).astype("float32")} for _ in range(8)]
    return relay.quantize(module, data, measure=False).module


MODELS = {"floats": floats, "codes": codes}


@pytest.fixture(params=MODELS)
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    tvmlite.compile(MODELS[request.param](), TARGET, name="net").export(tmp_path / "net.c")
    return tmp_path


def run_with_threads(folder: Path, compiler: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """The self-test with three threads, compiled and run."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    text = (folder / "net_test.c").read_text()
    begin = text.index("static const float input1_0")
    text = f"{text[:begin]}{POOL}\n{text[begin:]}".replace("if (net_run(", "if (on_threads(")
    text = text.replace(
        "    return 0;\n}\n", "    return calls > 1 && threads_seen[0] && threads_seen[2] ? 0 : 99;\n}\n"
    )
    (folder / "threads.c").write_text(text)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{folder}"]
    command = [compiler, *strict, *flags, "net.c", "threads.c", "-o", "threads", "-lm", "-lpthread"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run([folder / "threads"], capture_output=True, text=True, check=False)


def test_standalone_c_on_threads_computes_the_same(exported: Path) -> None:
    assert run_with_threads(exported, "gcc", "-O1").returncode == 0


@pytest.mark.slow
def test_threads_of_standalone_c_have_no_data_races(exported: Path) -> None:
    done = run_with_threads(exported, "clang", "-O1", "-g", "-fsanitize=thread")

    assert (done.returncode, done.stderr) == (0, "")


def test_standalone_c_without_a_pool_runs_on_one_thread(exported: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    command = ["gcc", "-std=c99", "-Wall", "-Werror", "net.c", "net_test.c", "-o", "one", "-lm"]
    subprocess.run(command, cwd=exported, check=True)

    assert subprocess.run([exported / "one"], check=False).returncode == 0


def test_code_without_cores_has_no_threads(tmp_path: Path) -> None:
    tvmlite.compile(floats(), "c -system=none", name="net").export(tmp_path / "net.c")

    assert "parallel" not in (tmp_path / "net.h").read_text() + (tmp_path / "net.c").read_text()


def test_the_target_keeps_the_number_of_cores() -> None:
    assert str(Target.parse(TARGET)) == TARGET
    assert Target.parse(TARGET).num_cores == 3
    assert str(Target.parse("c -mcpu=cortex-m4 -num-cores=1")) == "c -mcpu=cortex-m4"


def test_an_input_may_have_the_name_of_the_threads_parameter(tmp_path: Path) -> None:
    x = relay.var("tl_parallel", shape=(4,))
    lib = tvmlite.compile(Module.from_expr(relay.Function((x,), relay.exp(x))), TARGET, name="net")

    lib.export(tmp_path / "net.c")

    assert re.search(
        r"int32_t net\(const float \*\w+, float \*\w+, .*const net_parallel \*tl_parallel\);",
        (tmp_path / "net.h").read_text(),
    )
    if shutil.which("gcc") is not None:
        subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", "-c", "net.c"], cwd=tmp_path, check=True)
