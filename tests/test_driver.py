"""The driver checks arguments, caches kernels, shows every form of the code, and is deterministic."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import models
import numpy as np
import onnx
import pytest
import small_models
from onnx.reference import ReferenceEvaluator

import tvmlite
from tvmlite import relay, te
from tvmlite.core.errors import (
    ConfigError,
    InputError,
    ScheduleError,
    TargetError,
    TypeInferError,
    VerifyError,
)
from tvmlite.machine.target import Target
from tvmlite.model import forked_work, kernels
from tvmlite.model.artifact import FORMS, CompiledModule
from tvmlite.relay.entry import kernels as kernel_keys
from tvmlite.relay.frontend import from_onnx
from tvmlite.te.templates.anchors import Anchor
from tvmlite.te.templates.table import TEMPLATES, Template

SCALE = np.random.default_rng(0).standard_normal(8).astype(np.float32)


def _module(rows: int | str = "n") -> relay.Module:
    """``tanh(x * scale) + y``, then the largest of each row and the row itself."""
    x = relay.var("x", shape=(relay.dim(rows) if isinstance(rows, str) else rows, 8), dtype="float32")
    y = relay.var("y", shape=(8,), dtype="float32")
    value = relay.add(relay.tanh(relay.multiply(x, relay.const(SCALE))), y)
    return relay.IRModule.from_expr(relay.Function((x, y), relay.Tuple((relay.max(value, axis=(1,)), value))))


def _arguments(rows: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    return rng.standard_normal((rows, 8)).astype(np.float32), rng.standard_normal(8).astype(np.float32)


def _expected(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value = np.tanh(x.astype(np.float64) * SCALE) + y
    return value.max(1), value


def _assert_right(made: tuple[np.ndarray, ...], x: np.ndarray, y: np.ndarray) -> None:
    for got, want in zip(made, _expected(x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def lib() -> CompiledModule:
    return tvmlite.compile(_module(), name="net")


# Calling.


@pytest.mark.parametrize("rows", [0, 1, 3, 100])
def test_one_library_serves_every_size(lib: CompiledModule, rows: int) -> None:
    if rows == 0:
        assert [one.shape for one in lib(*_arguments(0))] == [(0,), (0, 8)]
    else:
        _assert_right(lib(*_arguments(rows)), *_arguments(rows))


def test_run_takes_inputs_and_gives_outputs_by_name(lib: CompiledModule) -> None:
    x, y = _arguments()

    outputs = lib.run({"y": y, "x": x})

    assert list(outputs) == ["output0", "output1"]
    _assert_right(tuple(outputs.values()), x, y)


def test_inputs_of_any_strides_and_byte_order_are_accepted(lib: CompiledModule) -> None:
    x, y = _arguments()
    wide = np.zeros((8, 6), np.float32)
    wide[:, ::2] = x.T
    fixed = x.copy()
    fixed.flags.writeable = False

    for same in (wide[:, ::2].T, x[::-1].copy()[::-1], fixed, x.astype(">f4"), np.asfortranarray(x)):
        _assert_right(lib(same, y), x, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": _arguments()[0], "z": _arguments()[1]}, "there is no input 'z'; the inputs are x, y"),
        ({"x": _arguments()[0]}, "input 'y' is not given; expected x, y"),
        (
            {"x": _arguments()[0].astype("f8"), "y": _arguments()[1]},
            "'x' has dtype float64, expected float32",
        ),
        ({"x": np.ones((3, 9), "f4"), "y": _arguments()[1]}, r"'x' has shape \(3, 9\), expected .*\(n, 8\)"),
        ({"x": np.ones(8, "f4"), "y": _arguments()[1]}, r"'x' has shape \(8,\), expected .*\(n, 8\)"),
        ({"x": [[1.0]], "y": _arguments()[1]}, "'x' is a list, expected an array"),
        ({"x": None, "y": _arguments()[1]}, "'x' is a NoneType, expected an array"),
    ],
)
def test_error_of_a_wrong_input_names_it(
    lib: CompiledModule, arguments: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        lib.run(arguments)


def test_too_many_inputs_are_an_error(lib: CompiledModule) -> None:
    with pytest.raises(InputError, match="3 inputs, expected 2: x, y"):
        lib(*_arguments(), _arguments()[1])


# What cannot be compiled.


def test_an_argument_that_is_not_a_module_or_schedule_is_an_error() -> None:
    with pytest.raises(InputError, match=r"(?s)a str given, expected a relay module.*from_onnx"):
        tvmlite.compile("model.onnx")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"(?s)a str given, expected a schedule.*create_schedule"):
        tvmlite.build("schedule")  # type: ignore[arg-type]


def test_a_module_without_main_is_an_error() -> None:
    with pytest.raises(VerifyError, match="needs a 'main'; this one has f"):
        tvmlite.compile(relay.IRModule({"f": _module().main}))


def test_an_unbound_variable_is_an_error() -> None:
    x = relay.var("x", (3,))

    with pytest.raises(VerifyError, match="variable %stray is not bound"):
        tvmlite.compile(relay.Function((x,), relay.add(x, relay.var("stray", (3,)))))


@pytest.mark.parametrize("name", ["my model", "2d", "", "int", "größe"])
def test_a_name_that_is_not_a_c_identifier_is_an_error(name: str) -> None:
    with pytest.raises(InputError, match=f"name '{name}' is not a C identifier"):
        tvmlite.compile(_module(), name=name)


def test_a_wrong_target_or_level_is_an_error() -> None:
    with pytest.raises(TargetError, match="unknown kind 'cuda'"):
        tvmlite.compile(_module(), "cuda")
    with pytest.raises(ConfigError, match="opt_level is 9, expected 0 to 4"):
        tvmlite.compile(_module(), opt_level=9)


def test_a_model_that_needs_terabytes_is_an_error() -> None:
    x = relay.var("x", (1 << 20,))
    wide = relay.broadcast_to(relay.exp(x), shape=(1 << 20, 1 << 20))
    output = tvmlite.compile(relay.Function((x,), wide))
    scratch = tvmlite.compile(relay.Function((x,), relay.sum(relay.sort(wide), axis=(0,))))
    for lib, what in ((output, "output 'output0'"), (scratch, "workspace")):
        with pytest.raises(InputError, match=rf"needs [\d,]{{17,}} bytes .*{what}.*this machine has"):
            lib(np.zeros(1 << 20, np.float32))

    with pytest.raises(TypeInferError, match="beyond any memory"):
        tvmlite.compile(relay.Function((y := relay.var("y", (1 << 40, 1 << 40)),), relay.exp(y)))


# Reading.


def test_every_form_of_every_kernel_can_be_read(lib: CompiledModule) -> None:
    marks = {"loops": "for ", "legal": "def ", "llvm": "define ", "optimized": "define ", "asm": ".text"}
    for form in FORMS:
        whole = lib.source(form)
        assert marks.get(form, "int32_t net(") in whole
        for name in lib.kernel_names:
            assert name in lib.source(form, name)


def test_error_of_an_unknown_kernel_or_form_lists_the_known_ones(lib: CompiledModule) -> None:
    with pytest.raises(InputError, match=f"no kernel 'nope'; there are .*{lib.kernel_names[0]}"):
        lib.source("loops", "nope")
    with pytest.raises(InputError, match="no form 'ptx'; there are loops, legal, llvm, optimized, asm, c"):
        lib.source("ptx")


def test_the_report_has_a_row_for_each_kernel(lib: CompiledModule) -> None:
    assert [row.symbol for row in lib.report.rows] == list(lib.kernel_names)
    assert all(row.schedule.startswith("default ") for row in lib.report.rows)
    assert [name for name, _ in lib.report.pass_times.rows][-1] == "reuse_operands"
    assert len(str(lib.report).splitlines()) == 1 + len(lib.report.rows)


def test_progress_is_reported_for_each_kernel() -> None:
    told: list[tuple[str, int, int]] = []

    made = tvmlite.compile(_module(), progress=lambda *what: told.append(what))

    count = len(made.kernel_names)
    assert told == [("compiling kernels", number, count) for number in range(count)]


# By hand.


def test_a_schedule_is_built_called_and_timed() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] * 2 + 1, name="b")
    schedule = te.create_schedule(b.op)
    outer, inner = schedule[b].split(b.op.axis[0], factor=16)
    schedule[b].vectorize(inner)
    schedule[b].parallel(outer)

    f = tvmlite.build(schedule, [a, b], name="twice")

    x = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(f(x), x * 2 + 1)
    y = np.empty_like(x)
    f(x, y)
    np.testing.assert_array_equal(y, x * 2 + 1)
    assert f.time(x, y, budget=0.01).median > 0
    assert "def twice(" in f.source("loops")
    assert "define " in f.source("llvm")


@pytest.mark.parametrize("target", ["native", "c"])
def test_two_outputs_are_returned_together(target: str) -> None:
    a = te.placeholder((5,), name="a")
    b, c = te.compute((5,), lambda i: (a[i] + 1, a[i] * a[i]), name="both")

    f = tvmlite.build(te.create_schedule([b.op]), [a, b, c], target)

    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(f(x), (x + 1, x * x))


# Levels, verification, dumps, determinism.


def test_winograd_is_used_only_within_the_error_bound() -> None:
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 16, 24, 25), dtype="float32")
    weight = rng.standard_normal((32, 16, 3, 3)).astype(np.float32)
    module = relay.IRModule.from_expr(relay.Function((x,), relay.nn.conv2d(x, relay.const(weight))))
    image = rng.standard_normal((1, 16, 24, 25)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.float64), (3, 3), (2, 3))
    want = np.einsum("nchwyx,ocyx->nohw", windows, weight.astype(np.float64))

    exact, quick = tvmlite.compile(module), tvmlite.compile(module, error_bound=1e-5, verify=True)

    assert "winograd" not in str(exact.module)
    assert "winograd" in str(quick.module)
    assert np.abs(quick(image) - want).max() <= 1e-5 * np.abs(want).max()
    assert np.abs(exact(image) - want).max() <= 1e-6 * np.abs(want).max()


def test_levels_give_different_graphs_with_the_same_results() -> None:
    model = models.light_model("squeezenet")
    module, feeds = from_onnx(model), models.inputs_for(model)
    made = {level: tvmlite.compile(module, opt_level=level) for level in (0, 1, 3)}
    answers = {level: next(iter(lib.run(feeds).values())) for level, lib in made.items()}

    for answer in answers.values():
        assert np.abs(answer - answers[3]).max() <= 1e-4 * np.abs(answers[3]).max()
    assert len({str(lib.module) for lib in made.values()}) == len(made)


def test_each_level_adds_its_own_optimizations_and_keeps_the_result() -> None:
    """Each level has something to optimize: a constant, a scale and an addition of 0, and weights."""
    weights = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
    x = relay.var("x", (4, 8))
    product = relay.nn.dense(x, relay.add(relay.const(weights), relay.const(weights)))
    scaled = relay.multiply(product, relay.const(np.arange(8, dtype=np.float32)))
    module = relay.IRModule.from_expr(
        relay.Function((x,), relay.nn.relu(relay.add(scaled, relay.const(0.0))))
    )
    given = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)

    libs = [tvmlite.compile(module, opt_level=level) for level in range(4)]
    graphs = [str(lib.module) for lib in libs]

    for lib in libs:
        expected = np.maximum(given @ (2 * weights).T * np.arange(8), 0)
        np.testing.assert_allclose(lib(given), expected, rtol=1e-4, atol=1e-4)
    assert len(set(graphs)) == 4
    assert len(libs[0].kernel_names) > len(libs[1].kernel_names)
    assert "multiply" in graphs[1]
    assert "multiply" not in graphs[2]
    assert "nn.dense(" in graphs[2]
    assert "nn.contrib_dense_pack" in graphs[3]


def test_the_ir_is_verified_and_dumped_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_VERIFY", "1")
    monkeypatch.setenv("TVMLITE_DUMP", str(tmp_path))
    monkeypatch.setenv("TVMLITE_CACHE", "off")

    made = tvmlite.compile(_module())

    names = sorted(path.name for path in tmp_path.iterdir())
    passes = [name for name, _ in made.report.pass_times.rows]
    graphs = [name for name in names if not name.startswith("fused_")]
    assert graphs == ["00_input.txt", *(f"{i:02d}_{name}.txt" for i, name in enumerate(passes, 1))]
    assert "nn" not in (tmp_path / graphs[-1]).read_text()
    assert relay.parse((tmp_path / graphs[0]).read_text()).main.params[0].name == "x"
    for kernel in made.kernel_names:
        assert any(name.startswith(kernel) and name.endswith("vectorize.txt") for name in names)


@pytest.mark.slow
def test_squeezenet_passes_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_VERIFY", "1")
    monkeypatch.setenv("TVMLITE_CACHE", "off")

    assert tvmlite.compile(from_onnx(models.light_model("squeezenet"))).kernels


CHILD = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
import models, tvmlite
from tvmlite.relay.frontend import from_onnx
if sys.argv[2] == "zoo":
    lib = tvmlite.compile(from_onnx(models.light_model("shufflenet")), name="net")
else:
    from test_driver import _module
    lib = tvmlite.compile(_module(), name="net")
lib.export(sys.argv[3])
text = "".join(lib.source(form) for form in ("loops", "llvm", "c"))
objects = [hashlib.sha256(one.object).hexdigest() for one in lib.kernels]
cached = sum(row.from_cache for row in lib.report.rows)
print(json.dumps([hashlib.sha256(text.encode()).hexdigest(), objects, cached]))
"""


def _child(
    output: Path, cache: Path | str, which: str = "small", **environment: str
) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), which, str(output)]
    environment = {**os.environ, "TVMLITE_CACHE": str(cache), **environment}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _answer(child: subprocess.Popen[str]) -> tuple[str, list[str], int]:
    out, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    text, objects, cached = json.loads(out)
    return text, objects, cached


@pytest.mark.slow
def test_compiled_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    children = [_child(tmp_path / f"{seed}.so", "off", "zoo", PYTHONHASHSEED=seed) for seed in ("1", "4242")]

    first, second = map(_answer, children)

    assert first == second
    files = [hashlib.sha256((tmp_path / f"{seed}.so").read_bytes()).hexdigest() for seed in ("1", "4242")]
    assert files[0] == files[1]


# Several processes.


@pytest.fixture
def three_processes(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setattr(forked_work, "processors", lambda: 3)
    monkeypatch.setattr(forked_work, "FEWEST_ITEMS", 1)


@pytest.mark.slow
def test_kernels_compiled_by_several_processes_equal_those_of_one(
    three_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = from_onnx(models.light_model("squeezenet"))
    numbers: list[int] = []

    shared = tvmlite.compile(module, progress=lambda what, number, total: numbers.append(number))
    monkeypatch.setenv("TVMLITE_CACHE", "off")
    alone = tvmlite.compile(module)

    assert [one.object for one in shared.kernels] == [one.object for one in alone.kernels]
    assert not any(row.from_cache for row in shared.report.rows)
    assert sorted(numbers) == list(range(len(shared.kernels)))


@pytest.mark.slow
def test_an_error_in_a_child_process_is_raised_in_the_callers(
    three_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, lowered_group = os.getpid(), kernels.lowered_group

    def lower(group: Any, target: Target, symbol: str, config: Any) -> Any:
        if "pool" in symbol:
            raise ScheduleError(f"cannot be lowered; in the child first: {os.getpid() != parent}")
        return lowered_group(group, target, symbol, config)

    monkeypatch.setattr(kernels, "lowered_group", lower)

    with pytest.raises(ScheduleError, match="in the child first: False") as caught:
        tvmlite.compile(from_onnx(models.light_model("squeezenet")))

    assert any("while lowering the kernel" in note for note in caught.value.__notes__)


# The cache.


def test_a_second_compilation_comes_from_the_cache(empty_cache: Path) -> None:
    first, second = tvmlite.compile(_module()), tvmlite.compile(_module())

    assert not any(row.from_cache for row in first.report.rows)
    assert all(row.from_cache for row in second.report.rows)
    assert [one.object for one in first.kernels] == [one.object for one in second.kernels]
    _assert_right(second(*_arguments()), *_arguments())


def test_a_cache_entry_of_another_shape_or_target_is_not_used(empty_cache: Path) -> None:
    tvmlite.compile(_module(3))

    assert not any(row.from_cache for row in tvmlite.compile(_module(4)).report.rows)
    narrow = tvmlite.compile(_module(3), "llvm -mcpu=x86-64" if os.uname().machine == "x86_64" else "llvm")
    assert not any(row.from_cache for row in narrow.report.rows)


def test_an_object_is_stored_in_the_cache_once(empty_cache: Path) -> None:
    made = tvmlite.compile(_module())
    stored = [path.read_bytes() for path in empty_cache.glob("??/*")]

    for kernel in made.kernels:
        assert sum(kernel.object in content for content in stored) == 1


def test_kernels_are_compiled_again_after_an_edit_of_the_compiler(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    tvmlite.compile(_module())
    monkeypatch.setattr(kernel_keys, "source_digest", lambda: "edited")

    edited, again = tvmlite.compile(_module()), tvmlite.compile(_module())

    assert not any(row.from_cache for row in edited.report.rows)
    assert all(row.from_cache for row in again.report.rows)


def test_a_kernel_whose_object_was_removed_is_compiled_again(empty_cache: Path) -> None:
    first = tvmlite.compile(_module())
    for path in empty_cache.glob("??/*"):
        if any(kernel.object in path.read_bytes() for kernel in first.kernels):
            path.unlink()

    second = tvmlite.compile(_module())

    assert not any(row.from_cache for row in second.report.rows)
    assert [one.object for one in first.kernels] == [one.object for one in second.kernels]
    _assert_right(second(*_arguments()), *_arguments())


def test_a_kernel_of_a_user_defined_template_is_not_cached(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    tvmlite.compile(_module())
    monkeypatch.setitem(TEMPLATES, Anchor("of a test"), [Template("of a test", lambda group: None)])

    assert not any(row.from_cache for _ in range(2) for row in tvmlite.compile(_module()).report.rows)


@pytest.mark.parametrize("spoil", ["empty", "half", "flipped", "text"])
def test_a_damaged_cache_entry_is_replaced(spoil: str, empty_cache: Path) -> None:
    tvmlite.compile(_module())
    entries = [path for path in empty_cache.glob("??/*") if path.is_file()]
    assert entries
    for path in entries:
        data = path.read_bytes()
        flipped = data[:-1] + bytes([data[-1] ^ 1])
        path.write_bytes(
            {"empty": b"", "half": data[: len(data) // 2], "flipped": flipped, "text": b"?"}[spoil]
        )

    again, third = tvmlite.compile(_module()), tvmlite.compile(_module())

    assert not any(row.from_cache for row in again.report.rows)
    assert all(row.from_cache for row in third.report.rows)
    _assert_right(third(*_arguments()), *_arguments())


@pytest.mark.slow
def test_two_processes_may_share_a_cache(tmp_path: Path) -> None:
    children = [_child(tmp_path / f"{i}.so", tmp_path / "cache") for i in range(2)]

    first, second = map(_answer, children)
    _, objects, cached = _answer(_child(tmp_path / "third.so", tmp_path / "cache"))

    assert first[1] == second[1] == objects
    assert cached == len(objects)


@pytest.mark.slow
def test_a_killed_compilation_leaves_a_usable_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    child = _child(tmp_path / "killed.so", cache, "zoo")
    deadline = time.monotonic() + 60
    # a kernel has two entries, and the thread pool's code and the digests of files are kept there too
    while len([p for p in cache.glob("*/*") if p.name[0] != "."]) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL

    _, objects, cached = _answer(_child(tmp_path / "net.so", cache, "zoo"))
    _, plain, _ = _answer(_child(tmp_path / "plain.so", "off", "zoo"))

    assert 0 < cached < len(objects)
    assert objects == plain


def test_the_cache_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TVMLITE_CACHE", "off")

    assert not any(row.from_cache for _ in range(2) for row in tvmlite.compile(_module()).report.rows)
    assert not list(tmp_path.rglob("tvmlite"))


def test_an_unwritable_cache_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TVMLITE_CACHE", str(tmp_path / "file" / "cache"))

    with pytest.warns(RuntimeWarning, match="compiled code is not kept"):
        lib = tvmlite.compile(_module())

    _assert_right(lib(*_arguments()), *_arguments())


# Intermediate values.


@pytest.mark.slow
def test_run_until_gives_any_value_of_a_model() -> None:
    model = models.minilm(layers=1, hidden=24, heads=2)
    feeds = models.inputs_for(model, dims={"batch": 2, "sequence": 5})
    lib = tvmlite.compile(from_onnx(model))
    attention = next(node for node in model.graph.node if node.op_type == "Softmax")
    model.graph.output.append(onnx.ValueInfoProto(name=attention.output[0]))
    expected = ReferenceEvaluator(model).run([attention.output[0]], feeds)[0]

    for name in (attention.output[0], attention.name):
        np.testing.assert_allclose(lib.run_until(name, *feeds.values()), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(lib.until(attention.name).run(feeds)[attention.name], expected, 1e-4, 1e-6)


def test_run_until_a_node_gives_all_its_outputs() -> None:
    split = onnx.helper.make_node("Split", ["x"], ["a", "b"], "halves", axis=0, num_outputs=2)
    join = onnx.helper.make_node("Sub", ["a", "b"], ["y"], "difference")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    lib = tvmlite.compile(from_onnx(small_models.model([split, join], [small_models.tensor("x")], opset=18)))

    first, second = lib.run_until("halves", x)

    np.testing.assert_array_equal(first, x[:1])
    np.testing.assert_array_equal(second, x[1:])
    np.testing.assert_array_equal(lib.run_until("b", x), x[1:])
    np.testing.assert_array_equal(lib.run_until("x", x), x)


def test_error_of_an_unknown_value_lists_similar_names() -> None:
    join = onnx.helper.make_node("Relu", ["x"], ["y"], "encoder/layer_1/relu")
    lib = tvmlite.compile(from_onnx(small_models.model([join], [small_models.tensor("x")])))

    with pytest.raises(
        InputError, match="no value or node 'layer_1/relu'; similar names are 'encoder/layer_1/relu'"
    ):
        lib.run_until("layer_1/relu", np.ones((2, 3), np.float32))
    with pytest.raises(InputError, match="no value or node 'q'; it has 'encoder/layer_1/relu', 'x', 'y'"):
        lib.run_until("q", np.ones((2, 3), np.float32))


# Sizes with kernels of their own.


def test_chosen_sizes_have_specialized_kernels() -> None:
    plain = tvmlite.compile(_module())
    chosen = tvmlite.compile(_module(), shape={"n": [1, 4]})

    for rows in (1, 3, 4, 100):
        _assert_right(chosen(*_arguments(rows)), *_arguments(rows))
    ran = {
        rows: [name for name, time in chosen.profile(*_arguments(rows)).kernels if time] for rows in (1, 4, 3)
    }
    assert len(chosen.kernel_names) > len(plain.kernel_names)
    assert set(ran[3]) & set(plain.kernel_names)
    assert not (set(ran[1]) | set(ran[4])) & set(plain.kernel_names)


def test_a_pinned_size_is_the_only_accepted_one() -> None:
    lib = tvmlite.compile(_module(), shape={"n": 4})

    _assert_right(lib(*_arguments(4)), *_arguments(4))
    assert lib.signature.is_static
    with pytest.raises(InputError, match=r"'x' has shape \(3, 8\), expected .*\(4, 8\)"):
        lib(*_arguments(3))
    with pytest.raises(InputError, match="no open dimension 'm'; there are 'n'"):
        tvmlite.compile(_module(), shape={"m": 4})
