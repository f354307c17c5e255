"""Libraries: called by input names, loaded with numpy and cffi alone, refused when they do not fit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data_objects import data_object

from tvmlite import runtime
from tvmlite.core.abi.signature import VERSION, Parameter, Signature
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.machine.features import missing_features
from tvmlite.runtime.library import link
from tvmlite.runtime.library.library import METADATA, metadata
from tvmlite.runtime.pool import pool

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")

SIGNATURE = Signature(
    "net",
    (
        Parameter("x", "input", "float32", ("n",)),
        Parameter("w", "input", "float32", ("n",)),
        Parameter("sum", "output", "float32", ("n",)),
        Parameter("product", "output", "float32", ("n",)),
        Parameter("n", "size"),
        Parameter("profile", "profile"),
    ),
    0,
    kernels=("add", "multiply"),
)
CODE = """
#include <stdint.h>
int32_t tvmlite_parallel_for(int32_t (*)(void *, int64_t, int64_t, int64_t), void *, int64_t);
struct c { const float *x, *w; float *s, *p; };
static int32_t body(void *c_, int64_t begin, int64_t end, int64_t t) {
    struct c *c = c_; (void)t;
    for (int64_t i = begin; i < end; i++) { c->s[i] = c->x[i] + c->w[i]; c->p[i] = c->x[i] * c->w[i]; }
    return 0;
}
int32_t net(const float *x, const float *w, float *s, float *p, int64_t n, int64_t *profile) {
    struct c c = {x, w, s, p};
    if (profile) { profile[0] = 3; profile[1] = 5; }
    return tvmlite_parallel_for(body, &c, n);
}
int32_t net_shapes(int64_t *out, int64_t threads, int64_t n) {
    (void)threads;
    out[0] = out[1] = out[2] = out[3] = n; out[4] = 0; return 0;
}
"""

Make = Callable[..., Path]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("objects")
    (folder / "net.c").write_text(CODE)
    (folder / "pool.c").write_text(pool.source())
    subprocess.run("gcc -std=c99 -O1 -fPIC -c net.c pool.c".split(), cwd=folder, check=True)
    return [folder / "net.o", folder / "pool.o"]


@pytest.fixture
def make(objects: list[Path], tmp_path: Path) -> Make:
    def build(text: str | None = None) -> Path:
        text = metadata(SIGNATURE, "llvm") if text is None else text
        data = data_object({METADATA: text.encode() + b"\0"})
        exports = ["net", "net_shapes", METADATA, *pool.SYMBOLS]
        return link.shared([*objects, data], tmp_path / "net.so", exports, metadata=text)

    return build


X, W = np.arange(5, dtype=np.float32), np.full(5, 2, np.float32)


def test_a_library_is_called_by_position_and_by_name(make: Make) -> None:
    lib = runtime.load(make())
    assert lib.input_names == ("x", "w")
    assert lib.output_names == ("sum", "product")
    for added, multiplied in (lib(X, W), lib(X, w=W), lib(w=W, x=X)):
        np.testing.assert_array_equal(added, X + W)
        np.testing.assert_array_equal(multiplied, X * W)
    outputs = lib.run({"x": X, "w": W})
    assert list(outputs) == ["sum", "product"]
    np.testing.assert_array_equal(outputs["product"], X * W)
    assert repr(lib) == "Library(net: x, w -> sum, product)"


def test_a_file_written_anew_is_loaded_anew(make: Make) -> None:
    first = runtime.load(make(metadata(SIGNATURE, "llvm", note="first")))
    path = make(metadata(SIGNATURE, "llvm", note="second"))
    assert runtime.load(path).metadata["note"] == "second"
    path.write_bytes(make(metadata(SIGNATURE, "llvm", note="third")).read_bytes())
    assert runtime.load(path).metadata["note"] == "third"
    assert first.metadata["note"] == "first"
    np.testing.assert_array_equal(first(X, W)[0], X + W)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_loaded_library_honours_the_number_of_threads(make: Make, threads: int) -> None:
    lib = runtime.load(make())
    runtime.set_num_threads(threads)
    big = np.ones(10_000, np.float32)
    np.testing.assert_array_equal(lib(big, big)[0], 2)
    assert lib.function._keep.tvmlite_get_num_threads() == threads  # type: ignore[attr-defined]


def test_inputs_that_do_not_fit_are_named(make: Make) -> None:
    lib = runtime.load(make())
    with pytest.raises(InputError, match="no input 'y'; the inputs are x, w"):
        lib.run({"x": X, "y": W})
    with pytest.raises(InputError, match="input 'w' is not given; expected x, w"):
        lib(X)
    with pytest.raises(InputError, match="3 inputs, expected 2: x, w"):
        lib(X, W, W)
    with pytest.raises(InputError, match="input 'x', 'w' is not given"):
        lib()
    refusal = r"input 'w' has shape \(2,\), expected float32 \(n,\), where n is 5 already"
    with pytest.raises(InputError, match=rf"{refusal}[\s\S]*rename one when compiling"):
        lib(X, W[:2])


def test_a_profile_is_a_table(make: Make) -> None:
    profile = runtime.load(make()).profile(X, W)
    assert profile.kernels == (("add", 3), ("multiply", 5))
    assert profile.outside == profile.nanoseconds - 8
    lines = str(profile).splitlines()
    assert [line.split()[0] for line in lines] == ["multiply", "add", "(outside", "total"]


def test_time_is_of_the_entry(make: Make) -> None:
    assert runtime.load(make()).time(X, W, number=5, repeat=3).median < 1


def test_a_fresh_process_needs_neither_llvmlite_nor_onnx_nor_xgboost(make: Make) -> None:
    path = make()
    code = f"""
import sys
import numpy as np
from tvmlite import runtime
lib = runtime.load({str(path)!r})
assert lib(np.ones(3, np.float32), np.ones(3, np.float32))[0].tolist() == [2, 2, 2]
heavy = {{"llvmlite", "onnx", "xgboost", "torch", "ml_dtypes", "tvmlite.te", "tvmlite.relay"}}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_that_are_no_library_of_ours_are_refused(
    make: Make, tmp_path: Path, objects: list[Path]
) -> None:
    with pytest.raises(LibraryError, match=r"there is no file .*nowhere.so"):
        runtime.load(tmp_path / "nowhere.so")
    foreign = link.shared([data_object({"x": b"y"})], tmp_path / "foreign.so")
    with pytest.raises(
        LibraryError, match=r"foreign.so does not end as a tvmlite library does: it is truncated"
    ):
        runtime.load(foreign)
    whole = make().read_bytes()
    for keep in (10, 1000, len(whole) // 2, len(whole) - 1):
        cut = tmp_path / f"cut{keep}.so"
        cut.write_bytes(whole[:keep])
        with pytest.raises(LibraryError, match=r"truncated|not a shared library"):
            runtime.load(cut)
    without_code = link.shared(
        [data_object({"x": b"y"})], tmp_path / "empty.so", metadata=metadata(SIGNATURE, "llvm")
    )
    with pytest.raises(LibraryError, match=r"empty.so does not define its entry 'net'"):
        runtime.load(without_code)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "metadata of .* cannot be read"),
        ("{}", "metadata of .* cannot be read: KeyError"),
        (
            metadata(SIGNATURE, "llvm").replace(f'"abi": {VERSION}', '"abi": 99'),
            "has ABI version 99, this runtime supports",
        ),
        (f'{{"abi": {VERSION}, "entry": 5}}', "metadata of .* cannot be read"),
        (metadata(SIGNATURE, "llvm").replace('"features": []', '"features": 5'), "features is 5"),
        (
            f'{{"abi": {VERSION}, "entry": "{{}}", "target": "llvm", "features": []}}',
            "metadata cannot be read",
        ),
    ],
)
def test_metadata_that_does_not_fit_is_refused(make: Make, text: str, message: str) -> None:
    with pytest.raises(LibraryError, match=message):
        runtime.load(make(text))


def test_a_processor_that_lacks_instructions_is_told(make: Make) -> None:
    path = make(metadata(SIGNATURE, "llvm -mcpu=future", features=["avx9999", "sse2"]))
    if not missing_features(["avx9999"]):
        pytest.skip("this system does not tell what its processor can do")
    with pytest.raises(
        LibraryError, match=r"compiled for 'llvm -mcpu=future'; this .* processor lacks avx9999"
    ):
        runtime.load(path)


def test_llvms_names_are_found_in_what_the_system_tells() -> None:
    target = pytest.importorskip("llvmlite.binding")
    own = [name for name, there in target.get_host_cpu_features().items() if there]
    assert missing_features(own) == []
