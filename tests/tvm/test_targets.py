"""Targets, devices, arrays and values in TVM's notation."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, TargetError, TvmliteError
from tvmlite.machine import target as machine
from tvmlite.tvm import te
from tvmlite.tvm.target import plain

PARSED = machine.Target.parse("llvm -mcpu=haswell -num-cores=4")


def test_a_virtual_device_has_device_target_and_scope() -> None:
    made = tvm.target.VirtualDevice(tvm.device("cuda", 3), "llvm", "global")

    assert (made.device_type, made.device_type_int, made.virtual_device_id) == (2, 2, 3)
    assert (str(made.target.kind), made.memory_scope) == ("llvm", "global")
    assert tvm.target.VirtualDevice() == tvm.target.VirtualDevice(None)
    assert tvm.target.VirtualDevice().device_type == -1
    with pytest.raises(TargetError, match="VirtualDevice: device: 'cpu' given, expected a device"):
        tvm.target.VirtualDevice("cpu")


@pytest.mark.parametrize(
    "given",
    [
        "llvm -mcpu=haswell -num-cores=4",
        "llvm -mcpu=haswell -num-cores 4 -keys=x86,cpu -device=arm_cpu -model=unknown",
        "llvm --mcpu=haswell --num-cores=4",
        {"kind": "llvm", "mcpu": "haswell", "num-cores": 4, "keys": ["x86", "cpu"], "host": "llvm"},
        '{"kind": "llvm", "mcpu": "haswell", "num-cores": 4}',
        PARSED,
        tvm.target.Target(PARSED),
    ],
)
def test_all_spellings_of_a_target_are_equal(given: Any) -> None:
    made = tvm.target.Target(given, host="llvm")

    assert plain(made) == PARSED
    assert machine.Target.parse(made) is made
    assert (made.kind.name, made.mcpu, made.attrs["num-cores"]) == ("llvm", "haswell", 4)
    assert plain(tvm.target.Target(made.export())) == PARSED
    assert made.export()["keys"] == made.keys


def test_a_target_keeps_keys_device_and_model() -> None:
    made = tvm.target.Target("llvm -keys=arm_cpu,cpu -device=arm_cpu -model=rasp4b")

    assert (made.keys, made.device_name, made.model) == (["arm_cpu", "cpu"], "arm_cpu", "rasp4b")
    assert (made.host, made.with_host("llvm"), made.libs) == (made, made, [])
    assert dataclasses.replace(made, num_cores=3).num_cores == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("llvm -mabi=lp64d", r"target 'llvm': option -mabi=lp64d is not supported; there are -mtriple"),
        ("llvm -system-lib", r"option -system-lib=1 is not supported"),
        ("llvm -link-params=1", r"(?s)option -link-params=1 is not supported.*Executor\("),
        ("llvm -host=cuda", r"target 'cuda': there is code for CPUs only"),
        ("shop/card", r"(?s)'shop/card' is no machine that is known.*register_tag\('shop/card'"),
        ("llvm haswell", r"'haswell' is no option: options start with -"),
        ("llvm -mcpu=a -mcpu=b", r"-mcpu is given twice"),
        ("", r"the target is an empty string"),
        ("abacus", r"unknown kind 'abacus'"),
        ("{kind", r"is not JSON"),
        ({"mcpu": "haswell"}, r"a target of 'mcpu' has no kind"),
        (3, r"Target: target: 3 given, expected a string, a dict or a target"),
    ],
)
def test_an_invalid_target_is_refused(given: Any, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        tvm.target.Target(given)


def test_target_scopes_nest() -> None:
    assert tvm.target.Target.current() is None
    with pytest.raises(TargetError, match="there is no current target"):
        tvm.target.Target.current(allow_none=False)
    with tvm.target.Target("c") as outer:
        with tvm.target.create("llvm") as inner:
            assert tvm.target.Target.current() is inner
        assert tvm.target.Target.current() is outer
    assert tvm.target.Target.list_kinds() == ["llvm", "c"]
    assert tvm.target.arm_cpu(options="-mtriple=aarch64-linux-gnu").triple == "aarch64-linux-gnu"


def test_targets_for_gpus_can_be_parsed_but_not_built_for() -> None:
    made = tvm.target.Target("cuda -model=unknown -libs=cublas,cudnn --host llvm")
    a = te.placeholder((4,), name="a")
    schedule = te.create_schedule(te.compute((4,), lambda i: a[i] + 1).op)

    assert (made.kind.name, made.model, made.keys, made.host.kind.name) == (
        "cuda",
        "unknown",
        ["cuda", "gpu"],
        "llvm",
    )
    assert (made.libs, made.attrs["libs"]) == (["cublas", "cudnn"], ["cublas", "cudnn"])
    assert (
        str(tvm.target.Target(str(made))) == str(made) == str(tvm.target.cuda(options="-libs=cublas,cudnn"))
    )
    assert tvm.target.Target(made.export()).host.kind.name == "llvm"
    assert (tvm.target.mali().device_name, tvm.target.vta().kind.name) == ("mali", "ext_dev")
    named = tvm.target.Target("vulkan -device_name='Two words' -supports_float16=true")
    assert (named.attrs["device_name"], named.attrs["supports_float16"]) == ("Two words", 1)
    assert tvm.target.Target("composite --devices=cuda,opencl").attrs["devices"][1].kind.name == "opencl"
    with pytest.raises(TargetError, match=r"target 'cuda.*': there is code for CPUs only"):
        tvm.build(schedule, [a, schedule.outputs[0].output(0)], made)
    with pytest.raises(TargetError, match="Target host is not empty when target is empty"):
        tvm.target.Target.canon_target_and_host(None, "llvm")
    with pytest.raises(TargetError, match="there is code for CPUs only"):
        tvm.target.Target("llvm", "cuda")
    with pytest.raises(TargetError, match="No closing quotation"):
        tvm.target.Target("vulkan -device_name='Two")
    with pytest.raises(TargetError, match=r"Target: libs: .* given, expected a string, a number or a list"):
        tvm.target.Target({"kind": "llvm", "libs": {"a": "b"}})
    with pytest.warns(
        UserWarning, match=r"target 'llvm': -libs=cblas,mkl is left out: kernels are generated"
    ):
        assert tvm.target.Target("llvm -libs=cblas,mkl").libs == ["cblas", "mkl"]


def test_canon_target_map_sets_the_host_of_each_target() -> None:
    found, host = tvm.target.Target.canon_target_map_and_host({"cuda": 1, "llvm": 2}, "llvm")

    assert [(key.kind.name, key.host.kind.name, value) for key, value in found.items()] == [
        ("cuda", "llvm", 1),
        ("llvm", "llvm", 2),
    ]
    assert host == tvm.target.Target("llvm")
    assert tvm.target.Target.canon_target_map_and_host({})[1] is None


def test_a_tag_names_a_target() -> None:
    board = tvm.target.Target("raspberry-pi/4b-aarch64")
    card = tvm.target.Target("cuda", "aws/cpu/c5.24xlarge")
    own = tvm.target.register_tag("tests/mine", {"kind": "llvm", "mcpu": "znver4", "num-cores": 3})

    assert (board.triple, board.cpu, board.num_cores, board.keys) == (
        "aarch64-linux-gnu",
        "cortex-a72",
        4,
        ["arm_cpu", "cpu"],
    )
    assert (card.kind.name, card.host.mcpu, card.host.num_cores) == ("cuda", "cascadelake", 48)
    assert tvm.target.list_tags()["tests/mine"] == own == tvm.target.Target("llvm -mcpu=znver4 -num-cores=3")
    with pytest.raises(TargetError, match="there is a tag 'tests/mine' already"):
        tvm.target.register_tag("tests/mine", {"kind": "c"})
    assert tvm.target.register_tag("tests/mine", {"kind": "c"}, override=True).kind.name == "c"
    with pytest.raises(TargetError, match="'aws/no-such' is no machine that is known"):
        tvm.target.Target("aws/no-such")


def test_only_llvm_and_c_are_enabled() -> None:
    assert [tvm.runtime.enabled(kind) for kind in ("llvm", "c", "stackvm", "cuda")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_target_is_copied_and_pickled() -> None:
    for text in ("llvm -mcpu=haswell -num-cores=4", "cuda -libs=cublas"):
        made = tvm.target.Target(text)

        assert copy.deepcopy(made) is made
        assert str(pickle.loads(pickle.dumps(made))) == str(made)


def test_a_generic_function_is_chosen_by_the_keys_of_the_target() -> None:
    @tvm.target.generic_func
    def scaled(value: int) -> int:
        return value + 1

    @scaled.register(["cuda", "gpu"])
    def _(value: int) -> int:
        return value + 2

    scaled.register("cpu")(lambda value: value + 10)

    assert scaled(1) == 2
    with tvm.target.Target("cuda"):
        assert scaled(1) == 3
    with tvm.target.Target("metal"):
        assert scaled(1) == 3
    with tvm.target.Target("llvm"):
        assert scaled(1) == 11
    with pytest.raises(TargetError, match="scaled: 'cpu' has a function already"):
        scaled.register("cpu")(scaled)
    own = tvm.target.override_native_generic_func("tests.own")(lambda value: value)
    assert tvm.target.get_native_generic_func("tests.own") is own
    with pytest.raises(InputError, match=r"there is no function 'tests\.none'"):
        tvm.target.get_native_generic_func("tests.none")


def test_devices_are_known_by_name_and_number() -> None:
    for name, made in (("gpu", tvm.cuda(0)), ("cl", tvm.opencl(0)), ("vulkan", tvm.vulkan(0))):
        assert tvm.device(name, 0) == made == tvm.device(made.device_type, 0)
        assert not made.exist
    assert tvm.device("llvm -mcpu=haswell", 1) == tvm.cpu(1) == tvm.device(1, 1)
    assert tvm.device(tvm.target.Target("llvm"), 0).exist
    with pytest.raises(TargetError, match=r"device metal\(0\) is not there"):
        tvm.metal(0).sync()
    with pytest.raises(TargetError, match="cuda: dev_id: -1 given, expected an int of at least 0"):
        tvm.cuda(-1)
    with pytest.raises(TargetError, match="device 'abacus' is not a CPU"):
        tvm.device("abacus")


def test_arrays_are_copied_or_shared() -> None:
    x = np.arange(6, dtype="f4").reshape(2, 3)
    shared = tvm.nd.from_dlpack(x)
    shared[0, 0] = 9

    assert (x[0, 0], tvm.nd.numpyasarray(x).numpy()[0, 0]) == (9, 9)
    assert not tvm.nd.array(x).is_view
    assert (tvm.cpu(1).device_id, tvm.opencl(10).device_id) == (1, 10)
    assert tvm.nd.array(x, ctx=tvm.cpu(0)).copyto(tvm.cpu(0)).numpy().tolist() == x.tolist()
    with pytest.raises(InputError, match="array: mem_scope: 'texture' given, expected None or 'global'"):
        tvm.nd.array(x, mem_scope="texture")
    with pytest.raises(InputError, match="from_dlpack: tensor: 3 given, expected an object with __dlpack__"):
        tvm.nd.from_dlpack(3)


@pytest.mark.parametrize("value", [True, 1, 1.5, np.uint8(3), np.float16(2), np.int64(5), np.bool_(True)])
def test_values_keep_their_dtype(value: Any) -> None:
    wanted = {int: "int32", float: "float32", bool: "bool"}.get(type(value)) or str(value.dtype)

    for made in (tvm.tir.const(value), tvm.runtime.convert(value), tvm.te.const(value)):
        assert (made.dtype, made.value) == (wanted, value)


def test_convert_makes_strings_lists_and_maps() -> None:
    text = tvm.runtime.convert("name")

    assert (text.value, text == "name", str(text), hash(text)) == ("name", True, "name", hash("name"))
    assert [one.value for one in tvm.convert([1, 2])] == [1, 2]
    assert tvm.convert({"a": 1})["a"].value == 1
    assert tvm.const(1, "int8x4").lanes == 4


def test_an_unregistered_function_is_an_error() -> None:
    with pytest.raises(TvmliteError, match=r"no function is registered as 'no\.such'"):
        tvm.get_global_func("no.such")
    with pytest.raises(TvmliteError, match="get_global_func: name: 3 given"):
        tvm.get_global_func(3)  # type: ignore[arg-type]


def test_every_user_error_is_a_tvm_error() -> None:
    assert tvm.TVMError is tvm.error.TVMError is TvmliteError
    assert issubclass(tvm.error.OpNotImplemented, tvm.TVMError)
