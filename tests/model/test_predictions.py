"""compile(predict=True): the report says where each schedule comes from, and what is expected of it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from made_up_gains import gains_by, worth

import tvmlite
from tvmlite import relay
from tvmlite.autotune.model import gains
from tvmlite.autotune.model.gains import Gains
from tvmlite.cli import main
from tvmlite.core.errors import InputError, UnsupportedError

TILED = relay.parse("def @main(%x: Tensor[(20, 30, 40), float32]) { tile(%x, reps=[1, 2, 3]) }")
OPEN = relay.parse("def @main(%x: Tensor[(n, 20), float32]) { nn.relu(%x) }")
X = np.random.default_rng(0).normal(size=(20, 30, 40)).astype(np.float32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_CACHE", str(tmp_path / "cache"))


def ship(monkeypatch: pytest.MonkeyPatch, model: Gains | None) -> None:
    """Let ``model`` be that of the package."""
    monkeypatch.setattr(gains, "shipped", lambda: model)


def told(module: relay.Module, **options: object) -> tuple[str, float | None, str]:
    """What the report says of the one kernel: where its schedule is from, the expected loss, and why."""
    (row,) = tvmlite.compile(module, predict=True, **options).report.rows  # type: ignore[arg-type]
    return row.schedule, row.loss, row.reason


LONGER = "beside the default: code"
"""More statements in a turn than in the default's."""


def test_a_candidate_takes_the_defaults_place(monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, gains_by(LONGER, 0.5, tile=worth(doubt=0.2, left=0.1)))

    lib = tvmlite.compile(TILED, predict=True)

    assert lib.kernels[0].task.config is not None
    np.testing.assert_array_equal(lib(X), np.tile(X, (1, 2, 3)))
    assert told(TILED) == (
        "cost model sketch",
        0.1,
        "predicted 2.00x as quick as the default, beyond doubt from 1.15x",
    )
    assert "10% (predicted 2.00x as quick" in str(lib.report)


@pytest.mark.parametrize(
    ("kinds", "loss", "reason"),
    [
        ({"tile": worth(doubt=1.0)}, 0.1, "nothing is predicted to be quicker beyond doubt"),
        ({"tile": worth(gaining=0.0)}, 0.3, "nothing of its kind was predicted beyond doubt"),
        ({"pool": worth()}, None, "the cost model was not tried on its kind"),
    ],
)
def test_the_default_stays_and_the_report_says_why(
    monkeypatch: pytest.MonkeyPatch, kinds: dict[str, gains.Trust], loss: float | None, reason: str
) -> None:
    ship(monkeypatch, gains_by(LONGER, 0.5, **kinds))

    assert told(TILED) == ("default injective", loss, reason)


def test_elsewhere_nothing_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, gains_by(LONGER, 0.5, tile=worth()))

    found = told(TILED, target="llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")

    assert found == ("default injective", None, "the cost model was not tried on such a target")


def test_what_is_no_task_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, gains_by(LONGER, 0.5, **{"nn.relu": worth()}))

    assert told(OPEN) == ("default injective", None, "open dimensions n")


def test_it_is_the_same_again_and_then_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, gains_by(LONGER, 0.5, tile=worth()))
    first = tvmlite.compile(TILED, predict=True)
    monkeypatch.setattr("tvmlite.model.predictions.predicted", None)  # it is not asked again

    again = tvmlite.compile(TILED, predict=True)

    assert again.kernel_names == first.kernel_names
    assert again.report.rows[0].from_cache
    assert again.report.rows[0].reason == first.report.rows[0].reason


def test_a_prediction_is_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, gains_by(LONGER, 0.5, tile=worth()))

    with pytest.raises(InputError, match=r"1 of 1 kernels are not tuned: fused_tile.*predicted 2\.00x"):
        tvmlite.compile(TILED, predict=True, require_tuned=True)


def test_no_package_for_learning_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    ship(monkeypatch, gains_by(LONGER, 0.5, tile=worth()))

    assert told(TILED)[0] == "cost model sketch"


def test_a_package_without_the_model_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, None)

    with pytest.raises(UnsupportedError, match=r"gain_model.json is missing(?s:.)*train_gain_model.py makes"):
        tvmlite.compile(TILED, predict=True)


def test_the_model_of_the_package_schedules_a_repetition_otherwise() -> None:
    model = gains.shipped()
    assert model is not None
    module = relay.parse("def @main(%x: Tensor[(20, 60, 120), float32]) { tile(%x, reps=[1, 2, 3]) }")

    assert told(module, target=model.target)[0] == "cost model sketch"


def test_the_command_takes_the_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(monkeypatch, gains_by(LONGER, 0.5, tile=worth()))
    node = onnx.helper.make_node("Tile", ["x", "times"], ["y"])
    times = onnx.numpy_helper.from_array(np.array([1, 2, 3], np.int64), "times")
    x, y = (
        onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", [20, 30, 40]), ("y", [20, 60, 120]))
    )
    onnx.save(
        onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y], [times])), tmp_path / "m.onnx"
    )

    main(["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "tiled.so"), "--predict", "--report"])

    assert "cost model sketch" in capsys.readouterr().out
