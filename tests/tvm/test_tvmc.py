"""``tvmc``: command lines, and the functions behind them."""

from __future__ import annotations

import gc
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite import relay
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.relay.text.printer import astext
from tvmlite.tvm.driver import tvmc
from tvmlite.tvm.driver.tvmc.main import main
from tvmlite.tvm.driver.tvmc.model import TVMCResult

onnx = pytest.importorskip("onnx")

W = np.arange(12, dtype=np.float32).reshape(4, 3) / 10


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """``relu(x @ w)`` with the open extent ``n``."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
            helper.make_node("Relu", ["h"], ["y"], "relu"),
        ],
        "g",
        [helper.make_tensor_value_info("x", kind, ["n", 4])],
        [helper.make_tensor_value_info("y", kind, ["n", 3])],
        [onnx.numpy_helper.from_array(W, "w")],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def expected(x: np.ndarray) -> np.ndarray:
    return np.maximum(x @ W, 0)


def shapes() -> list[str]:
    return ["--input-shapes", "x:[2,4]"]


@pytest.mark.parametrize("ending", ["tar", "so"])
def test_a_model_is_compiled_and_run(model: Path, tmp_path: Path, capsys: Any, ending: str) -> None:
    package, outputs = tmp_path / f"model.{ending}", tmp_path / "out.npz"
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    np.savez(tmp_path / "in.npz", x=x)

    assert main(["compile", str(model), "--target", "llvm", "--output", str(package), *shapes()]) == 0
    words = [
        "--inputs",
        str(tmp_path / "in.npz"),
        "--outputs",
        str(outputs),
        "--print-time",
        "--print-top",
        "2",
    ]
    assert (
        main(["run", *words, "--profile", "--repeat", "3", "--number", "2", "--device", "cpu", str(package)])
        == 0
    )

    shown = capsys.readouterr().out
    np.testing.assert_allclose(np.load(outputs)["output_0"], expected(x), rtol=1e-6)
    assert "Execution time summary:" in shown
    assert "mean (ms)" in shown
    assert "matmul" in shown or "dense" in shown  # of the profile
    top = np.sort(expected(x).reshape(-1))[::-1][:2]
    assert f"{top[0]:.4f}"[:5] in shown


def test_inputs_are_filled_by_fill_mode(model: Path, tmp_path: Path) -> None:
    loaded = tvmc.load(str(model), shape_dict={"x": [2, 4]})
    package = tvmc.compile(loaded, target="llvm", package_path=str(tmp_path / "m.tar"))

    ones = tvmc.run(package, device="cpu", fill_mode="ones", repeat=1, number=1)
    zeros = tvmc.run(
        tvmc.TVMCPackage(tmp_path / "m.tar"), device="cpu", fill_mode="zeros", repeat=2, number=1
    )
    random = [tvmc.run(package, device="cpu", repeat=1, number=1).outputs["output_0"] for _ in range(2)]

    np.testing.assert_allclose(ones.get_output("output_0"), expected(np.ones((2, 4), np.float32)), rtol=1e-6)
    assert not zeros.outputs["output_0"].any()
    assert zeros.times is not None
    assert len(zeros.times.results) == 2
    np.testing.assert_array_equal(*random)
    assert "output_0: float32[2, 3]" in str(ones)


def test_top_results_are_sorted_by_value() -> None:
    result = TVMCResult({"output_0": np.array([[1.0, 5.0], [4.0, 5.0]])})

    np.testing.assert_array_equal(result.get_top_results(3), [[1, 3, 2], [5, 5, 4]])
    with pytest.raises(InputError, match="there is no output 'y'; there are output_0"):
        result.get_output("y")


def test_dump_code_writes_files_next_to_the_package(model: Path, tmp_path: Path) -> None:
    words = ["--output", str(tmp_path / "m.so"), "--dump-code", "relay,ll,tir", *shapes()]

    assert main(["compile", str(model), *words]) == 0

    assert "fn" in (tmp_path / "m.so.relay").read_text()
    assert "define" in (tmp_path / "m.so.ll").read_text()
    assert "for" in (tmp_path / "m.so.tir").read_text()


@pytest.mark.slow
def test_compile_uses_tuning_records(model: Path, tmp_path: Path, capsys: Any) -> None:
    records = tmp_path / "records.json"
    words = ["--trials", "2", "--number", "1", "--repeat", "1", "--timeout", "60", "--tuner", "random"]

    assert main(["tune", "--target", "llvm", "--output", str(records), *words, *shapes(), str(model)]) == 0
    assert records.read_text().count("\n") >= 2
    package = ["--tuning-records", str(records), "--output", str(tmp_path / "m.so")]
    assert main(["compile", str(model), *package, *shapes()]) == 0
    assert f"tvmc compile --tuning-records {records}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--executor", "aot"], "--executor is 'aot', expected 'graph'"),
        (["--runtime", "crt"], "Runtime: 'crt' is not supported, cpp is"),
        (
            ["--executor-aot-interface-api", "c"],
            "Passed --executor-aot-interface-api but did not specify aot",
        ),
        (["--print-ir-after", "[FuseOps]"], "--print-ir-after is not supported"),
        (["--target", "cmsis-nn, llvm"], "--target has cmsis-nn, code of another compiler"),
        (["--target", "llvm, c, cuda"], "--target has llvm, c, cuda, expected one, or one and its host"),
        (["--pass-config", "tir.x"], "--pass-config is 'tir.x', expected NAME=VALUE"),
        (["--pass-config", "nothing.x=1"], "config has 'nothing.x'"),
        (["--target-c-mcpu", "cortex-m4"], "Passed --target-c-mcpu but did not specify c target"),
        (["--dump-code", "ptx"], "--dump-code has 'ptx'; there are relay, tir, ll, asm, c"),
        (["--model-format", "tflite"], "tflite models are not read, only ONNX"),
        (["--target", "cuda"], "TargetError"),
        (["--tuning-records", "gone.json"], "--tuning-records gone.json: there is no such file"),
    ],
)
def test_unsupported_options_of_compile_are_errors(
    model: Path, tmp_path: Path, capsys: Any, words: list[str], text: str
) -> None:
    assert main(["compile", str(model), "--output", str(tmp_path / "m.so"), *words]) == 1

    shown = capsys.readouterr().err
    assert shown.startswith("tvmc: ")
    assert text in shown
    assert not (tmp_path / "m.so").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run", "--device", "cuda", "m.so"], "--device is 'cuda': there is code for CPUs only"),
        (["run", "--rpc-tracker", "host:9190", "m.so"], "nothing is run on other machines"),
        (["run", "--repeat", "0", "m.so"], "--repeat is 0, expected at least 1"),
        (["run", "gone.so"], "there is no file"),
        (["run", "--outputs", "gone/out.npz", "gone.so"], "--outputs gone/out.npz: there is no folder gone"),
        (["tune", "--rpc-key", "pi", "-o", "r.json", "model.onnx"], "nothing is measured on other machines"),
        (["tune", "--tasks", "0", "-o", "r.json", "model.onnx"], "--tasks is '0', expected 'all'"),
        (["compile", "gone.onnx"], "FILE gone.onnx: there is no such file"),
    ],
)
def test_remote_machines_and_missing_files_are_errors(
    model: Path, tmp_path: Path, monkeypatch: Any, capsys: Any, words: list[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(words) == 1
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--outptu", "m.so"], "did you mean --output?"),
        (["--input-shapes", "x:2,4"], "expected 'name:[extent,...] name:[extent,...]'"),
        (["--input-shapes", "x:[2,a]"], "'x:[2,a]' has an extent that is not an integer"),
    ],
)
def test_a_mistyped_option_is_an_error(model: Path, capsys: Any, words: list[str], text: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compile", str(model), *words])

    assert stop.value.code == 2
    assert text in capsys.readouterr().err


def test_options_without_effect_are_accepted(model: Path, tmp_path: Path, capsys: Any) -> None:
    words = [
        "-vv",
        "--target-host",
        "llvm",
        "--target-llvm-device",
        "cpu",
        "--executor-graph-link-params",
        "1",
    ]
    limits = ["--pass-config", "relay.FuseOps.max_depth=10", "--pass-config", "tir.disable_vectorize=true"]
    package = tmp_path / "m.so"

    assert main(["compile", str(model), *words, *limits, *shapes(), "--output", str(package)]) == 0
    assert main(["run", str(package), "--fill-mode", "ones", "--outputs", str(tmp_path / "out.npz")]) == 0
    found = np.load(tmp_path / "out.npz")["output_0"]
    np.testing.assert_allclose(found, expected(np.ones((2, 4), np.float32)), rtol=1e-6)
    assert "mean (ms)" not in capsys.readouterr().out


def test_a_disabled_pass_lowers_the_level(model: Path, tmp_path: Path, capsys: Any) -> None:
    words = ["--disabled-pass", "FoldConstant,SimplifyInference", *shapes()]

    assert main(["compile", str(model), *words, "--output", str(tmp_path / "m.so")]) == 0
    shown = capsys.readouterr().err
    assert "opt_level is 0 in place of 3, the highest without FoldConstant, SimplifyInference" in shown


@pytest.mark.parametrize("text", ["x:[2,-1,3],y:[4]", "x: [2, ?, 3] y: [4]", 'x:[2,"n",3], y:[4]'])
def test_a_string_of_shapes_is_parsed(text: str) -> None:
    found = tvmc.shape_parser.parse_shape_string(text)

    assert found["x"][::2] == [2, 3]
    assert found["y"] == [4]
    assert repr(found["x"][1]) == ("'n'" if '"' in text else "?")


def test_an_extent_of_minus_one_is_open(model: Path, tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    np.savez(tmp_path / "in.npz", x=x)
    package, out = str(tmp_path / "m.so"), tmp_path / "out.npz"

    assert main(["compile", str(model), "--input-shapes", "x:[-1,4]", "--output", package]) == 0
    assert main(["run", package, "--inputs", str(tmp_path / "in.npz"), "--outputs", str(out)]) == 0
    np.testing.assert_allclose(np.load(out)["output_0"], expected(x), rtol=1e-6)
    opened = tvmc.load(str(model), shape_dict={"x": [-1, 4]})
    found = tvmc.run(tvmc.compile(opened, target="llvm"), inputs={"x": x}, benchmark=False)
    np.testing.assert_allclose(found.get_output("output_0"), expected(x), rtol=1e-6)
    assert found.times is None


def test_convert_graph_layout_changes_the_layout_of_convolutions() -> None:
    x, w = (tvm.relay.var(name, shape=shape) for name, shape in (("x", (1, 3, 8, 8)), ("w", (4, 3, 3, 3))))
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x, w], tvm.relay.nn.conv2d(x, w)))

    both = str(tvmc.transform.convert_graph_layout(mod, "NHWC:OHWI"))
    assert "NHWC" in str(tvmc.transform.convert_graph_layout(mod, "NHWC"))
    assert 'kernel_layout="OHWI"' in both
    assert "layout_transform" not in str(tvmc.transform.convert_graph_layout(mod, "NCHW"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "tuner",
    [
        "ga",
        "xgb",
        *(
            pytest.param(one, marks=pytest.mark.exhaustive)
            for one in ("gridsearch", "random", "xgb_rank_knob")
        ),
    ],
)
def test_tasks_are_tuned_into_a_log(model: Path, tmp_path: Path, tuner: str) -> None:
    loaded = tvmc.load(str(model), shape_dict={"x": [16, 4]})
    tasks = tvmc.autotuner.autotvm_get_tuning_tasks(loaded.mod, loaded.params, "llvm")[:1]
    option = tvm.autotvm.measure_option("local", tvm.autotvm.LocalRunner(number=1, repeat=1))
    log = tmp_path / "tuned.log"

    tvmc.autotuner.tune_tasks(tasks, log, option, tuner, 2)
    tvmc.autotuner.tune_tasks(tasks, log, option, tuner, 2, tuning_records=log)

    assert [inp.task.workload for inp, _ in tvm.autotvm.record.load_from_file(log)] == [tasks[0].workload] * 4


def test_target_options_reach_the_target(model: Path, tmp_path: Path, capsys: Any) -> None:
    words = ["--output", str(tmp_path / "m.so"), "--target-llvm-mcpu", "no-such-processor"]

    assert main(["compile", str(model), *words, *shapes()]) == 1
    assert "no-such-processor" in capsys.readouterr().err


def test_functions_refuse_unknown_arguments(model: Path) -> None:
    with pytest.raises(InputError, match="load: there is no option freeze"):
        tvmc.load(str(model), freeze=True)
    with pytest.raises(UnsupportedError, match="--tuner is 'sa'"):
        tvmc.autotuner.tune_tasks([], "log", {}, "sa", 1)
    with pytest.raises(InputError, match="run: a str given"):
        tvmc.run("m.so", device="cpu")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnsupportedError, match="--tuner is 'sa'"):
        tvmc.tune(tvmc.load(str(model)), target="llvm", tuner="sa")


def test_tuning_a_model_with_open_extents_needs_sizes(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"input 'x' has open extents(?s:.*)--input-shapes"):
        tvmc.tune(tvmc.load(str(model)), target="llvm", tuning_records=tmp_path / "records.json")


def test_a_saved_model_is_loaded(model: Path, tmp_path: Path) -> None:
    loaded = tvmc.load(str(model), shape_dict={"x": [2, 4]})

    loaded.save(tmp_path / "saved.tar")
    again = tvmc.TVMCModel(model_path=tmp_path / "saved.tar")

    assert str(again.mod) == str(loaded.mod)
    found = tvmc.run(
        tvmc.compile(again, target="llvm", package_path=str(tmp_path / "m.so")), fill_mode="ones"
    )
    np.testing.assert_allclose(found.get_output("output_0"), expected(np.ones((2, 4), np.float32)), rtol=1e-6)
    with tarfile.open(tmp_path / "other.tar", "w") as archive:
        archive.add(model, "model.onnx")
    with pytest.raises(InputError, match=r"other\.tar is no model that TVMCModel\.save wrote"):
        tvmc.TVMCModel(model_path=tmp_path / "other.tar")
    surface = tvmc.TVMCModel(*tvm.relay.frontend.from_onnx(onnx.load(model), {"x": (2, 4)}))
    surface.save(tmp_path / "surface.tar")
    again = tvmc.TVMCModel(model_path=tmp_path / "surface.tar")
    assert list(again.params) == list(surface.params)
    package = tvmc.compile(again, target="llvm", package_path=str(tmp_path / "s.so"))
    found = tvmc.run(package, fill_mode="ones", repeat=1, number=1)
    np.testing.assert_allclose(found.get_output("output_0"), expected(np.ones((2, 4), np.float32)), rtol=1e-6)


def test_a_saved_model_contains_its_large_weights(tmp_path: Path) -> None:
    weights = np.arange(512, dtype=np.float32).reshape(32, 16)
    x = tvm.relay.var("x", shape=(2, 16))
    tvmc.TVMCModel(tvm.IRModule.from_expr(tvm.relay.nn.dense(x, tvm.relay.const(weights)))).save(
        tmp_path / "saved.tar"
    )
    gc.collect()  # otherwise the constants would be found while still alive

    again = tvmc.TVMCModel(model_path=tmp_path / "saved.tar")

    package = tvmc.compile(again, "llvm", opt_level=0)
    found = tvmc.run(package, inputs={"x": np.eye(2, 16, dtype=np.float32)}, benchmark=False)
    np.testing.assert_array_equal(found.get_output("output_0"), weights.T[:2])


def test_default_paths_are_inside_the_model(model: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    loaded = tvmc.load(str(model), shape_dict={"x": [2, 4]})
    Path(loaded.default_tuning_records_path()).write_text("")

    package = tvmc.compile(loaded, target="llvm", use_vm=True)

    assert str(package.package_path) == loaded.default_package_path()
    assert sorted(tmp_path.iterdir()) == before
    loaded.save(tmp_path / "saved.tar")
    again = tvmc.TVMCModel(model_path=tmp_path / "saved.tar")
    assert Path(again.default_tuning_records_path()).read_text() == ""
    kept = tvmc.TVMCPackage(again.default_package_path())
    found = tvmc.run(kept, fill_mode="ones", benchmark=False)
    np.testing.assert_allclose(found.get_output("output_0"), expected(np.ones((2, 4), np.float32)), rtol=1e-6)


def test_relay_text_is_loaded_as_a_model(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "model.relay"
    text.write_text(astext(relay.frontend.from_onnx(str(model), {"x": (2, 4)})))

    loaded = tvmc.load(str(text))

    assert "nn.relu" in str(loaded.mod)
    assert type(tvmc.frontends.guess_frontend(str(text))) is tvmc.frontends.RelayFrontend
    with pytest.raises(InputError, match="the shapes of a module's text are as they are written"):
        tvmc.load(str(text), shape_dict={"x": [3, 4]})


def test_a_package_needs_no_ending(model: Path, tmp_path: Path) -> None:
    loaded = tvmc.load(str(model), shape_dict={"x": [2, 4]})

    tvmc.compile(loaded, target="llvm", package_path=str(tmp_path / "whatever"))
    package = tvmc.TVMCPackage(package_path=str(tmp_path / "whatever"))

    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("whatever")] == ["whatever"]
    found = tvmc.run(package, device="cpu", fill_mode="ones", repeat=1, number=1)
    np.testing.assert_allclose(found.get_output("output_0"), expected(np.ones((2, 4), np.float32)), rtol=1e-6)


def test_tvmc_is_a_command_and_a_module() -> None:
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["scripts"]["tvmc"] == "tvmlite.tvm.driver.tvmc.main:main"
    command = [sys.executable, "-m", "tvmlite.tvm.driver.tvmc", "--help"]

    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(word in shown for word in ("compile", "run", "tune"))
