"""C for machines without an operating system: its results, its requirements, and what is refused."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.relay.ir.nodes import LetDims, Module
from tvmlite.relay.ir.op import make

TARGET = "c -mcpu=cortex-m4"
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow", "-Wconversion"]
MATHEMATICS = {
    "nearbyintf",
    "expf",
    "logf",
    "sqrtf",
    "floorf",
    "ceilf",
    "truncf",
    "fabsf",
    "powf",
    "tanhf",
    "erff",
}
ALLOWED = {"<arm_acle.h>", "<math.h>", "<stdint.h>", "<stddef.h>", "<string.h>", '"net.h"'}


def weight(*shape: int) -> relay.Constant:
    drawn = np.random.default_rng(shape).standard_normal(shape)  # the same in whatever order tests run
    return relay.const((drawn / np.sqrt(np.prod(shape[1:]))).astype("float32"))


def images() -> Module:
    """Padded, strided, 1x1, grouped and depthwise convolutions, a pooling, a softmax."""
    x = relay.var("x", shape=(1, 4, 12, 10))
    y = relay.nn.relu(relay.nn.conv2d(x, weight(8, 4, 3, 3), padding=(1, 1)))
    y = relay.nn.conv2d(y, weight(8, 4, 3, 3), padding=(1, 1), strides=(2, 2), groups=2)
    y = relay.nn.relu(relay.nn.conv2d(y, weight(8, 1, 3, 3), padding=(1, 1), groups=8))
    y = relay.nn.conv2d(y, weight(12, 8, 1, 1))
    y = relay.nn.max_pool2d(relay.add(y, weight(12, 1, 1)), (2, 2), (2, 2))  # of 6 x 5 pixels: 3 x 2
    y = relay.nn.dense(relay.reshape(y, (1, 72)), weight(5, 12 * 3 * 2))
    return Module.from_expr(relay.Function((x,), relay.nn.softmax(y)))


def text() -> Module:
    """Dense layers, a product of two inputs, a normalization and a sum over rows; two outputs."""
    x, z = relay.var("x", shape=(6, 8)), relay.var("z", shape=(6, 8))
    y = relay.nn.layer_norm(relay.nn.dense(x, weight(8, 8)), relay.const(np.ones(8, "float32")), weight(8))
    scores = relay.nn.batch_matmul(relay.reshape(y, (1, 6, 8)), relay.reshape(z, (1, 6, 8)))
    outputs = relay.Tuple((relay.nn.softmax(scores), relay.sum(relay.nn.gelu(y), axis=1)))
    return Module.from_expr(relay.Function((x, z), outputs))


def bytes_() -> Module:
    """A quantized dense layer and convolution, with int8 operands."""
    scale, zero = relay.const(np.float32(0.05)), relay.const(np.int32(3))

    def quantized(value: relay.Expr) -> relay.Expr:
        codes = relay.qnn.quantize(value, scale, zero, out_dtype="int8")
        return relay.qnn.dequantize(codes, scale, zero)

    def codes(*shape: int) -> relay.Expr:
        stored = relay.const(np.random.default_rng(shape).integers(-127, 128, shape).astype("int8"))
        return relay.qnn.dequantize(stored, relay.const(np.float32(0.01)), relay.const(np.int32(0)))

    x = relay.var("x", shape=(1, 3, 8, 8))
    y = quantized(relay.nn.relu(relay.nn.conv2d(quantized(x), codes(6, 3, 3, 3), padding=(1, 1))))
    y = relay.nn.dense(relay.reshape(y, (1, 384)), codes(4, 6 * 64))
    return Module.from_expr(relay.Function((x,), relay.qnn.quantize(y, scale, zero, out_dtype="int8")))


def few_bits() -> Module:
    """Dense layers on many rows and on one, with weights of 4 bits in groups; the last group is padded."""
    x = relay.var("x", shape=(6, 64))
    y = relay.nn.relu(relay.nn.dense(x, weight(12, 64)))
    module = Module.from_expr(relay.Function((x,), relay.nn.dense(relay.reshape(y, (1, 72)), weight(6, 72))))
    return relay.quantize(module, mode="weight_only", bits=4, group=32).module


def few_bits_of_bytes() -> Module:
    """Dense layers with weights of 4 and 8 bits and data of 8 bits."""
    x = relay.var("x", shape=(6, 72))
    products = [
        relay.quantize(
            Module.from_expr(relay.Function((x,), relay.nn.dense(x, weight(12, 72)))),
            mode="weight_only", bits=bits, group=32, data_bits=8,
        ).module.main.body
        for bits in (4, 8)
    ]  # fmt: skip
    return Module.from_expr(relay.Function((x,), relay.Tuple(tuple(products))))


MODELS = {
    "images": images,
    "text": text,
    "bytes": bytes_,
    "few_bits": few_bits,
    "few_bits_of_bytes": few_bits_of_bytes,
}


@pytest.fixture(autouse=True)
def _needs_gcc() -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")


@pytest.fixture(scope="module", params=MODELS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Module, Path]:
    """A model, and the folder with its C."""
    module, folder = MODELS[request.param](), tmp_path_factory.mktemp(request.param)
    tvmlite.compile(module, TARGET, name="net").export(folder / "net.c")
    return module, folder


def gcc(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["gcc", *STRICT, f"-I{folder}", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def inputs_of(module: Module, seed: int = 5) -> list[np.ndarray]:
    made = np.random.default_rng(seed)
    return [made.standard_normal(shape).astype("float32") for shape in shapes_of(module)]


def shapes_of(module: Module) -> list[tuple[int, ...]]:
    return [p.type.shape for p in module.main.params]  # type: ignore[union-attr, misc]


def native(module: Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of the library compiled for this machine."""
    made = tvmlite.compile(module)(*inputs)
    return list(made) if isinstance(made, tuple) else [made]


def call(folder: Path, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """Run the C code with an arena full of ones and exactly as large as the header says."""
    done = gcc(folder, "-O1", "-shared", "-fPIC", "net.c", "-o", "net.so", "-lm")
    assert done.returncode == 0, done.stderr
    size, guard = arena_bytes(folder), 64
    room = np.full(size + 2 * guard, 0xFF, np.uint8)
    begin = room[guard + -(room.ctypes.data + guard) % 8 :]
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*inputs, *outputs)]
    pointers += [begin.ctypes.data_as(ctypes.c_void_p)] if size else []
    assert ctypes.CDLL(str(folder / "net.so")).net(*pointers) == 0
    assert (begin[size : size + 32] == 0xFF).all()


def arena_bytes(folder: Path) -> int:
    found = re.search(r"#define NET_ARENA_BYTES (\d+)", (folder / "net.h").read_text())
    assert found
    return int(found.group(1))


def test_standalone_c_computes_what_the_compiled_library_does(exported: tuple[Module, Path]) -> None:
    module, folder = exported
    inputs = inputs_of(module)
    expected = native(module, inputs)
    outputs = [np.zeros_like(one) for one in expected]

    call(folder, inputs, outputs)

    for got, wanted in zip(outputs, expected, strict=True):
        if wanted.dtype == np.int8:
            np.testing.assert_array_equal(got, wanted)
        else:
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_standalone_c_compiles_without_warnings(exported: tuple[Module, Path]) -> None:
    _, folder = exported
    alone = "-Wno-unused-function"  # the header is compiled by itself

    for words in (["-O2", "-c", "net.c", "-o", "net.o"], ["-c", "-x", "c", "net.h", alone, "-o", "net.h.o"]):
        done = gcc(folder, *words)
        assert (done.returncode, done.stderr) == (0, "")


def test_standalone_c_needs_only_math_and_has_no_mutable_globals(exported: tuple[Module, Path]) -> None:
    _, folder = exported
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    assert gcc(folder, "-O2", "-c", "net.c", "-o", "net.o").returncode == 0

    listed = subprocess.run(["nm", "net.o"], cwd=folder, capture_output=True, text=True, check=True)

    kinds = [line.split()[-2:] for line in listed.stdout.splitlines()]
    assert {name for kind, name in kinds if kind == "U"} <= MATHEMATICS | {"_GLOBAL_OFFSET_TABLE_"}
    assert [name for kind, name in kinds if kind == "T"] == ["net"]
    assert not [name for kind, name in kinds if kind in "bBdDcC"]


def test_standalone_c_includes_only_ubiquitous_headers(exported: tuple[Module, Path]) -> None:
    _, folder = exported

    text = (folder / "net.c").read_text() + (folder / "net.h").read_text()

    assert set(re.findall(r"^\s*#\s*include\s+(\S+)", text, re.MULTILINE)) <= ALLOWED


def test_weights_of_4_bits_stay_packed(tmp_path: Path) -> None:
    """Words of eight codes, a 16-bit scale for each group, and no matrix of floats in the arena."""
    lib = tvmlite.compile(few_bits(), TARGET, name="net")

    kept = [(str(one.dtype), one.shape) for one in lib.constants.offsets]

    assert kept == [
        ("uint32", (3, 8, 4)),
        ("float16", (3, 2, 4)),
        ("uint32", (2, 12, 4)),
        ("float16", (2, 3, 4)),
    ]
    assert lib.signature.workspace == 992
    lib.export(tmp_path / "net.c")
    assert "PREFETCH" not in (tmp_path / "net.c").read_text()


def test_kernels_have_comments_that_say_what_they_compute(exported: tuple[Module, Path]) -> None:
    _, folder = exported

    lines = (folder / "net.c").read_text().splitlines()

    heads = [k for k, line in enumerate(lines) if line.startswith("static void fused_")]
    assert heads
    assert all(lines[k - 1].endswith("*/") for k in heads)


def test_the_length_of_code_does_not_depend_on_channels() -> None:
    """A convolution with more channels has no more lines of code."""
    sizes = []
    for channels in (4, 64):
        x = relay.var("x", shape=(1, channels, 8, 8))
        y = relay.nn.conv2d(x, weight(channels, channels, 3, 3), padding=(1, 1))
        lib = tvmlite.compile(Module.from_expr(relay.Function((x,), y)), TARGET, name="net")
        sizes.append(len(lib.source("c").splitlines()))

    assert sizes[0] == sizes[1]


def test_the_generated_self_test_passes(exported: tuple[Module, Path]) -> None:
    _, folder = exported

    done = gcc(folder, "net.c", "net_test.c", "-o", "net_test", "-lm")

    assert done.returncode == 0, done.stderr
    assert subprocess.run([folder / "net_test"], check=False).returncode == 0


def test_the_generated_self_test_fails_for_a_wrong_result(
    exported: tuple[Module, Path], tmp_path: Path
) -> None:
    _, folder = exported
    shutil.copy(folder / "net.h", tmp_path)
    shutil.copy(folder / "net.c", tmp_path)
    text = (folder / "net_test.c").read_text()
    begin = text.index("output2_0[")
    at = text.index("{", begin) + 2
    end = text.index(",", at)
    right = float(text[at:end].rstrip("f"))
    wrong = right - 1 if right > 0 else right + 1  # representable in every dtype
    (tmp_path / "net_test.c").write_text(f"{text[:at]}{wrong:.0f}{text[end:]}")

    done = gcc(tmp_path, "-Wno-conversion", "net.c", "net_test.c", "-o", "net_test", "-lm")

    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "net_test"], check=False).returncode == 2


def test_the_manifest_describes_the_entry_and_expected_outputs(exported: tuple[Module, Path]) -> None:
    module, folder = exported

    manifest = json.loads((folder / "manifest.json").read_text())

    assert (manifest["entry"], manifest["header"]) == ("net_run", "net.h")
    assert [tuple(one["shape"]) for one in manifest["inputs"]] == shapes_of(module)
    assert manifest["arena_bytes"] == arena_bytes(folder)
    cases = np.load(folder / manifest["cases"])
    for case in range(2):
        inputs = [cases[f"i{case}_{k}"] for k in range(len(manifest["inputs"]))]
        for k, wanted in enumerate(native(module, inputs)):
            assert cases[f"o{case}_{k}"].dtype == manifest["outputs"][k]["dtype"]
            np.testing.assert_allclose(cases[f"o{case}_{k}"], wanted, rtol=1e-5, atol=1e-6)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    lib = tvmlite.compile(images(), TARGET, name="net")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        lib.export(tmp_path / name / "net.c")

    files = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert files == ["manifest.json", "net.c", "net.h", "net_cases.npz", "net_test.c"]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_weights_may_be_in_a_file(tmp_path: Path) -> None:
    module = text()
    inputs = inputs_of(module)
    tvmlite.compile(module, TARGET, name="net").export(tmp_path / "net.c", weights="file")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.bin", "net.c", "net.h"]
    assert gcc(tmp_path, "-shared", "-fPIC", "net.c", "-o", "net.so", "-lm").returncode == 0
    weights = np.frombuffer((tmp_path / "net.bin").read_bytes(), np.uint8)
    assert f"#define NET_WEIGHTS_BYTES {weights.size}" in (tmp_path / "net.h").read_text()

    expected = native(module, inputs)
    outputs, arena = [np.zeros_like(one) for one in expected], np.zeros(arena_bytes(tmp_path) // 8 + 1)
    arrays = (*inputs, *outputs, arena, weights.copy())
    assert (
        ctypes.CDLL(str(tmp_path / "net.so")).net(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays)) == 0
    )

    for got, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("model", "bits"), [(images, 256), (bytes_, 512), (few_bits, 512)])
@pytest.mark.parametrize("machine", [(), ("-m32", "-mfpmath=387")])
def test_standalone_c_with_vectors_computes_the_same(
    model: Callable[[], Module], bits: int, machine: tuple[str, ...], tmp_path: Path
) -> None:
    """Also if floats are computed with excess precision."""
    tvmlite.compile(model(), f"c -system=none -vector-bits={bits}", name="net").export(tmp_path / "net.c")
    if machine and gcc(tmp_path, *machine, "net_test.c", "-x", "c", "-E", "-o", "/dev/null").returncode:
        pytest.skip("no gcc for x86 of 32 bits")

    words = (*machine, "-Wno-conversion", "net.c", "net_test.c", "-o", "net_test", "-lm")
    done = gcc(tmp_path, *words)

    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "net_test"], check=False).returncode == 0
    assert "NET_ARENA_ALIGNMENT 64" in (tmp_path / "net.h").read_text()


def test_names_of_nodes_cannot_end_a_comment(tmp_path: Path) -> None:
    x = relay.var("x", shape=(4,))
    lib = tvmlite.compile(Module.from_expr(relay.Function((x,), relay.exp(x))), TARGET, name="net")
    lib.metadata["kernel_labels"][0] = "exp */ \\\n int bad; /* ü"

    lib.export(tmp_path / "net.c")

    assert "/* exp * / ??" in (tmp_path / "net.c").read_text().replace("? ?", "??")
    assert gcc(tmp_path, "-c", "net.c", "-o", "net.o").returncode == 0


NAMES = [
    *("class over y1 main net int32_t workspace arena_bytes weights NAN I M_PI".split()),
    *("__x _Bool net_run t0 export 0".split()),
]


def test_inputs_may_have_any_names(tmp_path: Path) -> None:
    """Keywords of C and C++, macros, and names of the generated code and of math.h."""
    inputs = [relay.var(name, shape=(4,)) for name in NAMES]
    total = relay.nn.relu(inputs[0])
    for one in inputs[1:]:
        total = relay.add(relay.cumsum(total, axis=0), one)
    function = relay.Function(tuple(inputs), total)
    tvmlite.compile(Module.from_expr(function), TARGET, name="net").export(tmp_path / "net.c")

    done = gcc(tmp_path, "-Wno-conversion", "net.c", "net_test.c", "-o", "net_test", "-lm")

    assert (done.returncode, done.stderr) == (0, "")
    assert subprocess.run([tmp_path / "net_test"], check=False).returncode == 0
    (tmp_path / "net.cpp").write_text('#include <cmath>\n#include "net.h"\n')
    if shutil.which("g++") is not None:
        words = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-c", "net.cpp", "-o", "net.o"]
        subprocess.run(words, cwd=tmp_path, check=True)


def test_open_dimensions_are_refused(tmp_path: Path) -> None:
    x = relay.var("x", shape=(relay.dim("n"), 4))
    lib = tvmlite.compile(Module.from_expr(relay.Function((x,), relay.exp(x))), TARGET, name="net")

    with pytest.raises(UnsupportedError, match="one arena of known size, and the model has open dimensions"):
        lib.export(tmp_path / "net.c")

    assert not list(tmp_path.iterdir())


def test_extents_that_come_from_data_are_refused(tmp_path: Path) -> None:
    x, n = relay.var("x", shape=(4, 4)), relay.dim("n")
    body = LetDims((n,), make("count_nonzero", x), make("argwhere", x, count=n))
    lib = tvmlite.compile(Module.from_expr(relay.Function((x,), body)), TARGET, name="net")

    with pytest.raises(UnsupportedError, match="extents in the model come from data"):
        lib.export(tmp_path / "net.c")


def test_arenas_of_gigabytes_are_refused(tmp_path: Path) -> None:
    x = relay.var("x", shape=(1, 1))
    wide = relay.exp(relay.nn.max_pool2d(relay.broadcast_to(x, (1, 1, 30000, 30000)), (3, 3), (1, 1)))
    lib = tvmlite.compile(Module.from_expr(relay.Function((x,), relay.sum(wide))), TARGET, name="net")

    with pytest.raises(UnsupportedError, match="an arena of at most 2,147,483,647 bytes, the model needs 7,"):
        lib.export(tmp_path / "net.h")


def test_another_place_for_weights_is_an_error(tmp_path: Path) -> None:
    lib = tvmlite.compile(text(), TARGET, name="net")

    with pytest.raises(InputError, match="weights is 'flash', expected 'source' or 'file'"):
        lib.export(tmp_path / "net.c", weights="flash")


def test_weights_in_a_file_need_a_target_without_a_system(tmp_path: Path) -> None:
    lib = tvmlite.compile(text(), "c", name="net")

    with pytest.raises(InputError, match="weights='file' is for a target without a system, not 'c'"):
        lib.export(tmp_path / "net.c", weights="file")


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_microcontroller_computes_the_same(model: str, tmp_path: Path) -> None:
    """Compiled by a bare-metal compiler and run by an emulator."""
    compiler, emulator = shutil.which("arm-none-eabi-gcc"), shutil.which("qemu-system-arm")
    if compiler is None or emulator is None:
        pytest.skip("no arm-none-eabi-gcc or no qemu-system-arm")
    tvmlite.compile(MODELS[model](), TARGET, name="net").export(tmp_path / "net.c")
    (tmp_path / "start.c").write_text(
        'extern void _start(void);\nconst void *const vectors[2] __attribute__((section(".vectors"), used)) ='
        " {(const void *)0x300000, (const void *)_start};\n"
    )
    flags = "-mcpu=cortex-m4 -mthumb -std=c99 -Os --specs=rdimon.specs -Wl,--section-start=.vectors=0"
    sources = ["net.c", "net_test.c", "start.c", "-lm", "-o", "net.elf"]
    subprocess.run([compiler, *flags.split(), *sources], cwd=tmp_path, check=True)
    machine = "-M mps2-an386 -monitor none -serial none -display none"
    semihosting = "-semihosting-config enable=on,target=native -kernel net.elf"

    done = subprocess.run(
        [emulator, *machine.split(), *semihosting.split()], cwd=tmp_path, timeout=120, check=False
    )

    assert done.returncode == 0
