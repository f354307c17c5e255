"""Trees without XGBoost predict the same values, and damaged models are refused."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tvmlite.autotune.model import trees
from tvmlite.autotune.model.loop_features import WIDTH
from tvmlite.autotune.model.trees import Trees
from tvmlite.core.errors import ParseError
from tvmlite.machine.target import Target

xgboost = pytest.importorskip("xgboost", reason="xgboost is of the extra tune")


@cache
def trained(depth: int = 4) -> tuple[Trees, np.ndarray, np.ndarray]:
    """A model, rows, and XGBoost's predictions for the rows."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(400, WIDTH)).astype(np.float32)
    wanted = np.where(rows[:, 3] > 0.2, rows[:, 7], -rows[:, 5] * rows[:, 9])
    parameters = {"max_depth": depth, "base_score": 0.0, "nthread": 1, "objective": "reg:squarederror"}
    booster = xgboost.train(parameters, xgboost.DMatrix(rows, label=wanted), 30)
    return Trees.of_xgboost(booster), rows, booster.inplace_predict(rows)


def test_trees_predict_what_xgboost_predicts() -> None:
    made, rows, expected = trained()

    np.testing.assert_allclose(made(rows), expected, rtol=1e-5, atol=1e-5)


def test_a_model_survives_a_round_trip_through_json() -> None:
    made, rows, _ = trained()

    again = Trees.from_json(made.to_json())

    np.testing.assert_allclose(again(rows), made(rows), atol=0.02)  # leaves are stored with four digits


@pytest.mark.parametrize("text", ["[", "[]"])
def test_text_that_is_not_a_model_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="no cost model"):
        Trees.from_json(text)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"features": ["speed"]}, "trained on other features"),
        ({"leaf": [[1, 2]]}, "its trees have"),
        ({"leaf": 1}, "its trees have"),
        ({"leaf": [], "feature": [], "threshold": []}, "its trees have"),
        ({"leaf": [[]] * 30}, "its trees have"),
        ({"feature": [[WIDTH] * 3] * 30}, "a feature index is invalid"),
        ({"feature": [[0.5] * 3] * 30}, "a feature index is invalid"),
        ({"leaf": [["__import__('os')"] * 4] * 30}, "no cost model"),
        ({"leaf": [[float("nan")] * 4] * 30}, "some of its numbers are not finite"),
    ],
)
def test_error_of_a_damaged_model_says_what_is_wrong(fields: dict[str, object], reason: str) -> None:
    model = json.loads(trained(2)[0].to_json())

    with pytest.raises(ParseError, match=reason):
        Trees.from_json(json.dumps(model | fields))


def target_of(cpu: str) -> Target:
    return Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")


@pytest.mark.parametrize("cpu", ["znver5", "graniterapids", "znver3"])
def test_shipped_models_are_small_and_have_the_current_features(cpu: str) -> None:
    assert trees.path_of(target_of(cpu)).stat().st_size < 200_000
    assert trees.shipped(target_of(cpu)) is not None


def test_each_kind_of_processor_has_a_model_and_others_get_the_nearest() -> None:
    kinds = ("znver5", "graniterapids", "znver3", "haswell", "x86-64-v4")
    amd, intel, few, few_of_intel, another = (trees.shipped(target_of(cpu)) for cpu in kinds)

    assert amd is another is not None
    assert few is few_of_intel is not None
    assert len({id(model) for model in (amd, intel, few)}) == 3


def test_a_missing_model_file_gives_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trees, "SHIPPED", tmp_path)

    assert trees.shipped(target_of("graniterapids")) is None
