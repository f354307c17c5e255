"""Layers stay in float32 where that is faster; the times here are made up."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quantizable_networks import conv, images, module_of, relu, residual, weights

import tvmlite
from tvmlite import relay
from tvmlite.autotune.records import records as rec
from tvmlite.core import provided
from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.blocks import order, runs_of
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Function, Module, Var, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.quantize.speed import Plan
from tvmlite.runtime.library.profile import Profile
from tvmlite.tuning.layer_precision import comparison
from tvmlite.tuning.layer_precision.attribution import Groups, parts_of
from tvmlite.tuning.layer_precision.faster_layers import faster_layers

DATA = images()

Costs = Mapping[str, tuple[int, int]]
"""Nanoseconds of an operator's kernel with float operands and with int8 operands."""


def chain(count: int = 4) -> Module:
    """Dense layers in a row, whose names are ``dense_1``, ``dense_3``, ..."""
    y = x = var("x", (4, 16))
    for seed in range(count):
        y = relu(make("nn.dense", y, weights(16, 16, seed=seed)))
    return module_of(y, x)


CHAIN_DATA = [{"x": np.random.default_rng(k).standard_normal((4, 16)).astype(np.float32)} for k in range(8)]


def _in_halves(lib: CompiledModule) -> set[str]:
    """The layers whose operands are rounded to 16 bits."""
    taken = [one for one in lib.report.decisions if one.kind == "precision" and one.taken != "float32"]
    return {span.node for one in taken for span in one.spans}


def _reads_bytes(group: Function) -> bool:
    types = [type_of(one) for one in postorder(group.body) if isinstance(one, (Var, Call))]
    return any(isinstance(one, TensorType) and one.dtype in ("int8", "uint8") for one in types[:-1])


def made_up(costs: Costs, conversion: int) -> Callable[[CompiledModule, Sequence[np.ndarray]], Profile]:
    """Runs of a library in which kernels take their ``costs``, by default 1 us, and kernels that only convert
    take ``conversion``."""
    known: dict[CompiledModule, Profile] = {}

    def run(lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
        if lib not in known:
            groups = [one.call.op for one in runs_of(order(lib.module.main))]
            times = []
            for parts, group in zip(parts_of(lib), groups, strict=True):
                assert isinstance(group, Function)
                found = [name for name in parts.operators if name in costs]
                narrow = _reads_bytes(group)
                time = sum(costs[name][narrow or name in _in_halves(lib)] for name in found)
                times.append(time or (1000 if parts.operators else conversion))
            kernels = tuple(zip(lib.signature.kernels, times, strict=True))
            known[lib] = Profile(kernels, sum(times))
        return known[lib]

    return run


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that makes kernels take the given ``costs``."""

    def install(costs: Costs, conversion: int = 100) -> None:
        monkeypatch.setattr(comparison, "COMPARISON_SECONDS", 0.0)
        run = made_up(costs, conversion)
        monkeypatch.setitem(provided._PROVIDERS, "faster_layers", lambda: partial(faster_layers, run=run))

    return install


@pytest.fixture
def nothing_is_timed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function after whose call measuring is an error."""

    def refuse(lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
        raise AssertionError("a library was run to time it")

    def install() -> None:
        finder = partial(faster_layers, run=refuse)
        monkeypatch.setitem(provided._PROVIDERS, "faster_layers", lambda: finder)

    return install


FAST = {f"dense_{k}": (30_000, 10_000) for k in (1, 3, 5, 7)}


def precisions(made: relay.QuantizedModule) -> dict[str, str]:
    return {row.name: row.precision for row in made.report.layers}


def test_layers_faster_in_int8_are_quantized(measured: Callable[..., None]) -> None:
    measured(FAST)
    made = tvmlite.quantize(chain(), CHAIN_DATA)

    assert precisions(made) == dict.fromkeys(FAST, "int8")
    assert [row.reason for row in made.report.layers] == [""] * 4
    assert str(made.module) == str(tvmlite.quantize(chain(), CHAIN_DATA, measure=False).module)


def test_a_layer_slower_in_int8_stays_in_float32(measured: Callable[..., None]) -> None:
    measured({**FAST, "dense_7": (30_000, 41_000)})
    made = tvmlite.quantize(chain(), CHAIN_DATA)

    assert precisions(made) == {**dict.fromkeys(FAST, "int8"), "dense_7": "float32"}
    row = made.report.layers[-1]
    assert row.reason == "slower in int8: 41 µs against 30 µs"
    assert (row.float_seconds, row.narrow_seconds) == pytest.approx((30e-6, 41e-6))
    assert made.report.latency == pytest.approx((120e-6, 60.1e-6))
    kept = tvmlite.quantize(chain(), CHAIN_DATA, measure=False, keep_float=["dense_7"])
    assert str(made.module) == str(kept.module)


def test_conversions_count_as_time_of_the_layer_that_needs_them(measured: Callable[..., None]) -> None:
    """The first layer is faster in int8 by itself, but not with the kernel that quantizes its input."""
    measured({**FAST, "dense_1": (30_000, 29_000)}, conversion=5_000)
    made = tvmlite.quantize(chain(), CHAIN_DATA)

    assert precisions(made)["dense_1"] == "float32"
    assert made.report.layers[0].reason == "slower in int8: 34 µs against 30 µs"


def test_a_slow_layer_is_quantized_if_float32_would_cost_conversions(measured: Callable[..., None]) -> None:
    """In float32 it would read floats, which another layer then has to have rounded in a kernel of its
    own."""
    x = var("x", (1, 3, 16, 16))
    first = relu(conv(x, weights(8, 3, 3, 3)))
    slow, fast = (relu(conv(first, weights(8, 8, 3, 3, seed=seed))) for seed in (1, 2))
    module = module_of(conv(make("concatenate", relay.Tuple((slow, fast)), axis=1), weights(4, 16, 1, 1)), x)
    rows = tvmlite.quantize(module, DATA, measure=False).report.layers
    products = [row.name for row in rows if row.op == "nn.conv2d"]

    measured(dict.fromkeys(products, (30_000, 10_000)) | {products[1]: (30_000, 31_000)}, conversion=9_000)
    made = tvmlite.quantize(module, DATA)
    row = next(row for row in made.report.layers if row.name == products[1])

    assert row.precision == "int8"
    assert row.reason == "slower in int8: 31 µs against 30 µs, but float32 would cost conversions"


def test_a_model_slower_in_int8_is_returned_unchanged(measured: Callable[..., None]) -> None:
    measured(dict.fromkeys(FAST, (30_000, 41_000)))
    module = chain()
    made = tvmlite.quantize(module, CHAIN_DATA)

    assert made.module is module
    assert set(precisions(made).values()) == {"float32"}
    assert made.report.latency == pytest.approx((120e-6, 120e-6))
    assert "0 of 4 layers in int8" in str(made.report)


def test_recorded_decisions_are_followed_without_a_measurement(
    measured: Callable[..., None], nothing_is_timed: Callable[[], None], tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    measured({**FAST, "dense_7": (30_000, 41_000)})
    made = tvmlite.quantize(chain(), CHAIN_DATA, records=path)
    assert rec.load(path).decisions == made.records

    nothing_is_timed()
    again = tvmlite.quantize(chain(), CHAIN_DATA, records=path)
    third = tvmlite.quantize(chain(), CHAIN_DATA, records=made.records)

    assert str(again.module) == str(third.module) == str(made.module)
    assert again.report == third.report == made.report
    lib = tvmlite.compile(made.module, records=path)
    assert lib(CHAIN_DATA[0]["x"]).shape == (4, 16)


def test_records_of_another_model_or_other_options_are_ignored(
    measured: Callable[..., None], tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    measured(FAST)
    first = tvmlite.quantize(chain(), CHAIN_DATA, records=path)
    measured(dict.fromkeys(FAST, (30_000, 41_000)))

    others: list[dict[str, Any]] = [{"mode": "dynamic"}, {"compile_options": {"opt_level": 2}}]
    for options in others:
        other = tvmlite.quantize(chain(), CHAIN_DATA, records=path, **options)
        assert set(precisions(other).values()) == {"float32"}
    assert set(precisions(tvmlite.quantize(chain(3), CHAIN_DATA, records=path)).values()) == {"float32"}
    again = tvmlite.quantize(chain(), CHAIN_DATA, records=path)
    assert again.report == first.report


def test_the_report_shows_the_times_of_layers(measured: Callable[..., None]) -> None:
    measured({**FAST, "dense_7": (30_000, 41_000)})
    made = tvmlite.quantize(chain(), CHAIN_DATA)

    heading, *lines = str(made).splitlines()
    assert heading.split()[-5:] == ["time", "int8", "time", "operator", "layer"]
    assert "30 µs" in lines[1]
    assert "a run: 120 µs before, 60.1 µs after, 2×" in lines
    rows = json.loads(made.report.json())["layers"]
    assert [row["narrow_seconds"] for row in rows] == pytest.approx([10.1e-6, 10e-6, 10e-6, 41e-6])
    assert "float32 time" in made.page()
    assert "slower in int8: 41 µs against 30 µs" in made.page()


def test_products_slower_in_16_bits_stay_in_float32(
    measured: Callable[..., None], nothing_is_timed: Callable[[], None], tmp_path: Path
) -> None:
    """The last three layers are equal, so one decision holds for all."""
    x = var("x", (4, 8))
    y = relu(make("nn.dense", x, weights(16, 8)))
    for seed in range(3):
        y = relu(make("nn.dense", y, weights(16, 16, seed=seed)))
    module, path = module_of(y, x), tmp_path / "records.jsonl"
    measured({**FAST, "dense_5": (30_000, 90_000), "dense_7": (30_000, 31_000)})
    made = tvmlite.quantize(module, mode="bfloat16", records=path)

    expected = {"dense_1": "bfloat16"} | dict.fromkeys(("dense_3", "dense_5", "dense_7"), "float32")
    assert precisions(made) == expected
    assert made.report.layers[2].reason == "slower in bfloat16: 90 µs against 30 µs"
    assert made.report.layers[1].reason == "slower in bfloat16 together with its neighbours"
    report = tvmlite.compile(made.module, **made.compile_options).report
    assert [(one.taken, one.places) for one in report.decisions] == [("bfloat16", 1), ("float32", 3)]
    nothing_is_timed()
    again = tvmlite.quantize(module, mode="bfloat16", records=path)
    assert (again.compile_options, again.report) == (made.compile_options, made.report)


def test_the_times_of_groups_add_up_to_the_times_of_kernels() -> None:
    module = residual()
    libs = [tvmlite.compile(one) for one in (module, tvmlite.quantize(module, DATA, measure=False).module)]
    groups = Groups.of(Plan(module, (), "int8", "", lambda kept: (module, {})), libs)

    for form, lib in enumerate(libs):
        profiles = [lib.profile(DATA[0]["x"]) for _ in range(2)]
        seconds = groups.seconds(form, profiles)
        for run, profile in enumerate(profiles):
            whole = sum(time for _, time in profile.kernels) * 1e-9
            assert sum(one[run] for one in seconds.values()) == pytest.approx(whole)


def test_open_sizes_without_data_are_reported_or_refused() -> None:
    x = var("x", (relay.dim("n"), 16))
    module = module_of(make("nn.dense", x, weights(8, 16)), x)
    made = tvmlite.quantize(module, mode="dynamic")

    assert "layers were not timed: input 'x' has the open dimension 'n'" in str(made.report)
    with pytest.raises(InputError, match="input 'x' has the open dimension 'n'"):
        tvmlite.quantize(module, mode="dynamic", measure=True)


def test_a_target_that_does_not_run_here_is_not_timed() -> None:
    made = tvmlite.quantize(
        chain(), CHAIN_DATA, compile_options={"target": "llvm -mtriple=aarch64-linux-gnu"}
    )

    assert made.report.untimed.startswith("quantize: layers cannot be timed: ")
    assert set(precisions(made).values()) == {"int8"}
