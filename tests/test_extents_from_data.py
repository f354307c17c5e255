"""Extents that come from the data, in compiled models: outputs have exactly the counted extents."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Function, LetDims, Module, Tuple
from tvmlite.relay.ir.op import make

rng = np.random.default_rng(0)


def some(*shape: int, share: float = 0.5) -> np.ndarray:
    return (rng.random(shape) * (rng.random(shape) < share)).astype("float32")


def finder() -> Module:
    """The indices of nonzero elements, the exponentials of those elements, and an output of known size."""
    x, n = relay.var("x", shape=("h", 4)), relay.dim("n")
    where = make("argwhere", x, count=n)
    values = make("exp", make("gather_nd", x, make("transpose", where, axes=(1, 0))))
    body = LetDims((n,), make("count_nonzero", x), Tuple((make("tanh", x), where, values)))
    return Module({"main": Function((x,), body)}, ("t", "where", "values"))


def check(lib, module: Module, *inputs: np.ndarray) -> None:
    wanted = interpret(module, inputs)
    for got, want in zip(lib(*inputs), wanted, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def lib():
    return tvmlite.compile(finder())


def test_outputs_have_the_extents_counted_in_the_data(lib) -> None:
    for rows, share in ((5, 0.5), (300, 0.9), (300, 0.0), (1, 1.0), (0, 1.0), (50, 0.1)):
        check(lib, finder(), some(rows, 4, share=share))

    assert lib.output_names == ("t", "where", "values")
    assert [p.kind for p in lib.signature.outputs] == ["output", "found", "found"]


def test_results_do_not_share_memory_with_later_ones(lib) -> None:
    x = some(20, 4)
    first = lib(x)[1]
    kept = first.copy()
    lib(some(30, 4))

    np.testing.assert_array_equal(first, kept)


def test_a_model_with_extents_from_data_is_timed_and_profiled(lib) -> None:
    x = some(50, 4)

    assert lib.time(x, number=1, repeat=2).median > 0
    profile = lib.profile(x)
    assert len(profile.kernels) == len(lib.signature.kernels)


def test_an_exported_library_gives_the_same_results(lib, tmp_path: Path) -> None:
    lib.export(tmp_path / "model.so")
    loaded = runtime.load(tmp_path / "model.so")

    for rows in (3, 200, 7):
        check(loaded, finder(), some(rows, 4))
    assert loaded.run({"x": some(2, 4, share=0.0)})["where"].shape == (0, 2)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_c_source_gives_the_same_results(tmp_path: Path) -> None:
    lib = tvmlite.compile(finder(), target="c")
    check(lib, finder(), some(60, 4))
    lib.export(tmp_path / "model.c")
    (tmp_path / "main.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "main.c", "model.c", "tvmlite_pool.c", "-lm",
                    "-lpthread", "-o", "main"], cwd=tmp_path, check=True)  # fmt: skip

    assert (
        subprocess.run([tmp_path / "main"], capture_output=True, text=True).stdout == "3: 0 1, 2 3, 499 0\n"
    )


PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
static float x[500][4], t[500][4];
int main(void) {
    int64_t told[6], size = 64;
    void *workspace = aligned_alloc(64, 64);
    x[0][1] = x[2][3] = x[499][0] = 1;
    while (model(&x[0][0], &t[0][0], 500, workspace, 1, told, size, 0) != 0) {
        free(workspace);
        size = (told[0] + 63) / 64 * 64;
        workspace = aligned_alloc(64, (size_t)size);
    }
    const int64_t *where = (const int64_t *)(const void *)((const char *)workspace + told[1]);
    printf("%d:", (int)told[2]);
    for (int64_t i = 0; i < told[2]; i++) {
        printf("%s %d %d", i ? "," : "", (int)where[2 * i], (int)where[2 * i + 1]);
    }
    printf("\n");
    free(workspace);
    return 0;
}
"""


def sized(name: str = "size") -> Module:
    """A tensor whose extent is the value of an input."""
    size, n = relay.var(name, shape=(), dtype="int64"), relay.dim("n")
    return Module({"main": Function((size,), LetDims((n,), size, make("ones", shape=(n, 8))))})


def test_an_extent_may_be_the_value_of_an_input() -> None:
    lib = tvmlite.compile(sized())

    for count in (3, 0, 1000):
        assert lib(np.int64(count)).shape == (count, 8)
    with pytest.raises(ExecutionError, match="the extent n must not be negative"):
        lib(np.int64(-2))


@pytest.mark.parametrize("count", [2**61, 2**62 + 1, 2**40])
def test_absurd_extents_are_refused(count: int) -> None:
    with pytest.raises(InputError, match=r"needs .* bytes|larger than any machine's memory"):
        tvmlite.compile(sized())(np.int64(count))
