"""Trees without XGBoost: they say what it says, and what is no model is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tvmlite.autotune import trees
from tvmlite.autotune.loop_features import WIDTH
from tvmlite.autotune.trees import Trees
from tvmlite.core.errors import ParseError

xgboost = pytest.importorskip("xgboost", reason="xgboost is of the extra tune")


def trained(depth: int = 4) -> tuple[Trees, np.ndarray, np.ndarray]:
    """A model, rows, and what XGBoost says of them."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(400, WIDTH)).astype(np.float32)
    wanted = np.where(rows[:, 3] > 0.2, rows[:, 7], -rows[:, 5] * rows[:, 9])
    parameters = {"max_depth": depth, "base_score": 0.0, "nthread": 1, "objective": "reg:squarederror"}
    booster = xgboost.train(parameters, xgboost.DMatrix(rows, label=wanted), 30)
    return Trees.of_xgboost(booster), rows, booster.inplace_predict(rows)


def test_they_say_what_xgboost_says() -> None:
    made, rows, expected = trained()

    np.testing.assert_allclose(made(rows), expected, rtol=1e-5, atol=1e-5)


def test_a_model_survives_json() -> None:
    made, rows, _ = trained()

    again = Trees.from_json(made.to_json())

    np.testing.assert_allclose(again(rows), made(rows), atol=0.02)  # four digits are kept of a leaf


def changed(**fields: object) -> str:
    return json.dumps(json.loads(trained(2)[0].to_json()) | fields)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[", "no cost model"),
        ("[]", "no cost model"),
        (changed(features=["speed"]), "trained on other features"),
        (changed(leaf=[[1, 2]]), "its trees have"),
        (changed(feature=[[WIDTH] * 3] * 30), "features that do not exist"),
        (changed(feature=[[0.5] * 3] * 30), "features that do not exist"),
        (changed(leaf=[["__import__('os')"] * 4] * 30), "no cost model"),
        (changed(leaf=[[float("nan")] * 4] * 30), "some of its numbers are none"),
    ],
)
def test_what_is_no_model_says_why(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        Trees.from_json(text)


def test_the_model_that_comes_with_the_package_is_small_and_of_our_features() -> None:

    assert trees.SHIPPED.stat().st_size < 300_000
    assert trees.shipped() is not None
