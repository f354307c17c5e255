"""Options of ``tvmc``: targets, executors, passes, trackers, and files of options."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tvmlite.core.errors import InputError, TargetError, UnsupportedError
from tvmlite.tvm.driver import tvmc
from tvmlite.tvm.driver.tvmc import config_options, pass_config, registry, target
from tvmlite.tvm.driver.tvmc.main import parser
from tvmlite.tvm.relay.backend import Executor, Runtime


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("llvm -mattr=+a,-b --flag, c -mcpu=m", ["llvm", "-mattr=+a,-b", "--flag", ",", "c", "-mcpu=m"]),
        ("x-y -o='a, b' -p=\"c d\",z", ["x-y", "-o='a, b'", '-p="c d"', ",", "z"]),
        ("llvm,c", ["llvm", ",", "c"]),
    ],
)
def test_commas_separate_targets_except_in_values(given: str, words: list[str]) -> None:
    assert target.tokenize_target(given) == words


def test_a_target_has_a_name_and_options() -> None:
    other, own = target.parse_target("ethos-n -variant='n 78', llvm -device=arm_cpu --system-lib")

    assert other == {
        "name": "ethos-n",
        "opts": {"variant": "n 78"},
        "raw": "ethos-n -variant='n 78'",
        "is_tvm_target": False,
    }
    assert own["name"], own["opts"] == ("llvm", {"device": "arm_cpu", "system-lib": True})
    assert own["is_tvm_target"]
    with pytest.raises(InputError, match="option '-fast' has no value"):
        target.parse_target("llvm -fast")
    with pytest.raises(InputError, match="expected names of targets with commas between them"):
        target.parse_target("llvm,")


def test_target_options_are_added_and_a_second_target_is_the_host() -> None:
    made, others = target.target_from_cli(
        "opencl -device=mali, llvm -mtriple=aarch64-linux-gnu",
        {"opencl": {"max_num_threads": 404}},
    )

    assert others == []
    assert "-device=mali -max_num_threads=404" in str(made)
    assert "aarch64-linux-gnu" in str(made.host)
    made, others = target.target_from_cli("cmsis-nn -x=1, c")
    assert (str(made).split()[0], [one["opts"] for one in others]) == ("c", [{"x": "1"}])


def test_a_target_may_be_json_or_a_file(tmp_path: Path) -> None:
    text = json.dumps({"kind": "llvm", "mcpu": "znver4"})
    (tmp_path / "target.json").write_text(text)

    assert target.target_from_cli(text)[0].mcpu == "znver4"
    assert target.target_from_cli(str(tmp_path / "target.json"))[0].mcpu == "znver4"


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        ("llvm, llvm", {}, "--target has a target twice: llvm, llvm"),
        ("cuda, opencl, llvm", {}, "--target has cuda, opencl, llvm, expected one, or one and its host"),
        ("llvm", {"c": {"mcpu": "m"}}, "Passed --target-c-mcpu but did not specify c target"),
    ],
)
def test_inconsistent_targets_are_errors(given: str, options: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        target.target_from_cli(given, options)


def test_options_of_functions_reach_the_target() -> None:
    model = mock.MagicMock()

    with pytest.raises(UnsupportedError, match="--target has vitis-ai, code of another compiler"):
        tvmc.compile(model, target="vitis-ai, llvm")
    with pytest.raises(UnsupportedError, match=r"--output-format is 'mlf'(?s:.*)microcontrollers"):
        tvmc.compile(model, target="c", output_format="mlf")
    with pytest.raises(TargetError, match="no-such-processor"):
        tvmc.compile(model, target="llvm", additional_target_options={"llvm": {"mcpu": "no-such-processor"}})


def test_target_arguments_are_generated_and_reconstructed() -> None:
    made = argparse.ArgumentParser()
    target.generate_target_args(made)

    args = made.parse_args(["--target=llvm", "--target-llvm-mattr=+a,+b", "--target-llvm-num-cores", "2"])

    assert args.target == "llvm"
    assert target.reconstruct_target_args(args) == {"llvm": {"mattr": "+a,+b", "num-cores": "2"}}


def test_executors_and_runtimes_have_options() -> None:
    made = argparse.ArgumentParser()
    registry.generate_registry_args(made, Executor)
    registry.generate_registry_args(made, Runtime, "cpp")

    def read(*words: str) -> Any:
        return registry.reconstruct_registry_entity(made.parse_args(words), Executor)

    assert read() is None
    found = read("--executor=aot", "--executor-aot-interface-api=c", "--executor-aot-unpacked-api", "1")
    assert (found.name, found["interface-api"], found["unpacked-api"]) == ("aot", "c", 1)
    assert found["link-params"]  # by default
    assert registry.reconstruct_registry_entity(made.parse_args([]), Runtime) == Runtime("cpp")
    with pytest.raises(InputError, match='Executor "vm" is not defined'):
        read("--executor=vm")
    with pytest.raises(InputError, match="Passed --executor-graph-link-params but did not specify graph"):
        read("--executor=aot", "--executor-graph-link-params=1")


def test_lists_of_pass_names_are_parsed_and_checked() -> None:
    assert pass_config.parse_pass_list_str("") == [""]
    assert pass_config.parse_pass_list_str("FuseOps, qnn.Legalize,tir.UnrollLoop") == [
        *("FuseOps", "qnn.Legalize", "tir.UnrollLoop")
    ]
    with pytest.raises(argparse.ArgumentTypeError, match=r"no pass FuseOp, x\.y; there are .*FuseOps"):
        pass_config.parse_pass_list_str("FuseOp,FoldConstant,x.y")


def test_the_address_of_a_tracker_has_a_default_port() -> None:
    assert tvmc.common.tracker_host_port_from_cli("1.2.3.4:99") == ("1.2.3.4", 99)
    assert tvmc.common.tracker_host_port_from_cli("1.2.3.4") == ("1.2.3.4", 9090)
    assert tvmc.common.tracker_host_port_from_cli("") == (None, None)


def test_a_file_of_options_is_read(tmp_path: Path, monkeypatch: Any) -> None:
    options = {
        "targets": [{"kind": "c", "mcpu": "m55", "march": "v8"}, {"kind": "llvm"}],
        "executor": {"kind": "aot", "unpacked-api": "1"},
        "pass-config": {"tir.disable_vectorize": "1"},
        "repeat": "3",
    }
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "mine.json").write_text(json.dumps(options))
    monkeypatch.setenv("TVM_CONFIGS_JSON_DIR", str(tmp_path))

    read = config_options.read_and_convert_json_into_dict(argparse.Namespace(config="mine"))

    assert read == options
    assert config_options.convert_config_json_to_cli(read) == [
        {"target_c_mcpu": "m55"},
        {"target_c_march": "v8"},
        {"target": "c, llvm"},
        {"executor": "aot"},
        {"executor_aot_unpacked_api": "1"},
        {"pass_config": ["tir.disable_vectorize=1"]},
        {"repeat": "3"},
    ]
    assert config_options.read_and_convert_json_into_dict(argparse.Namespace(config="default")) == {}


def test_options_from_a_file_are_defaults() -> None:
    values = [{"output": "records.json"}, {"trials": "7"}, {"target": "c"}]

    args = parser(values).parse_args(["tune", "model.onnx", "--target", "llvm"])

    assert (args.output, args.trials, args.target) == (Path("records.json"), 7, "llvm")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"trails": 3}', "--config has 'trails', which is no option of any command"),
        ("[1]", "has a list, expected options by their names"),
        ("{", "is not JSON"),
        ('{"executor": "aot"}', "executor is 'aot', expected a table with a kind"),
        (None, "there is no such file"),
    ],
)
def test_a_wrong_file_of_options_is_an_error(
    tmp_path: Path, capsys: Any, text: str | None, message: str
) -> None:
    path = tmp_path / "options.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(SystemExit, match="2"):
        tvmc.main.main(["run", "--config", str(path), "m.tar"])

    assert message in capsys.readouterr().err


def test_unsupported_attributes_of_a_package_are_errors(tmp_path: Path) -> None:
    package = tvmc.TVMCPackage(tmp_path / "m.tar")

    assert package.package_path == package.lib_path == str(tmp_path / "m.tar")
    assert not hasattr(package, "graph")
    with pytest.raises(UnsupportedError, match=r"TVMCPackage\.params is not in tvmlite"):
        _ = package.params
    with pytest.raises(UnsupportedError, match="project_dir is of models for microcontrollers"):
        tvmc.TVMCPackage(tmp_path / "m.tar", project_dir=tmp_path)
