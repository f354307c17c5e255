"""Calibration data: accepted forms and the text of each error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quantizable_networks import images, module_of, weights

from tvmlite.core.errors import InputError
from tvmlite.relay.ir.nodes import Module, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.quantize.data import calibration_runs


def one_input(*shape: Any) -> Module:
    x = var("x", shape)
    return module_of(make("nn.dense", x, weights(5, 4)), x)


def two_inputs() -> Module:
    a, b = var("a", ("n", 4)), var("b", ("n", 4))
    return module_of(make("nn.dense", make("add", a, b), weights(5, 4)), a, b)


def rows(count: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((count, *shape)).astype(np.float32)


def test_an_array_is_split_into_runs_by_the_rows_of_the_input() -> None:
    data = rows(12, 4)

    runs = calibration_runs(one_input(2, 4), data)

    assert [one["x"].shape for one in runs] == [(2, 4)] * 6
    np.testing.assert_array_equal(np.concatenate([one["x"] for one in runs]), data)


def test_an_open_number_of_rows_is_split_into_batches() -> None:
    assert [len(one["x"]) for one in calibration_runs(one_input("n", 4), rows(40, 4))] == [16, 16, 8]


def test_an_extra_first_axis_is_the_axis_of_runs() -> None:
    assert [one["x"].shape for one in calibration_runs(one_input(1, 4), rows(9, 1, 4))] == [(1, 4)] * 9


def test_data_are_read_from_an_npz_file_and_from_a_folder(tmp_path: Path) -> None:
    data = rows(8, 1, 4)
    np.savez(tmp_path / "all.npz", x=data)
    (tmp_path / "folder").mkdir()
    for number, one in enumerate(data):
        np.save(tmp_path / "folder" / f"{number}.npy", one)

    from_file = calibration_runs(one_input(1, 4), tmp_path / "all.npz")
    from_folder = calibration_runs(one_input(1, 4), str(tmp_path / "folder"))

    for found in (from_file, from_folder):
        np.testing.assert_array_equal([one["x"] for one in found], data)


def test_data_may_be_an_iterator_of_mappings_or_of_ordered_arrays() -> None:
    a, b = rows(8, 4), rows(8, 4) + 1
    by_name = calibration_runs(two_inputs(), ({"b": b[k : k + 1], "a": a[k : k + 1]} for k in range(8)))
    in_order = calibration_runs(two_inputs(), [(a[k : k + 1], b[k : k + 1]) for k in range(8)])

    for one, other in zip(by_name, in_order, strict=True):
        np.testing.assert_array_equal(one["b"], other["b"])


BAD = np.full((1, 4), np.nan, np.float32)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "quantize: data is None, expected an .npz, a folder, or a list of inputs"),
        (7, "quantize: data is a int, expected an .npz, a folder, or a list of inputs"),
        (rows(3, 4), "quantize: data has 3 examples, expected at least 8"),
        ([], "quantize: data has 0 examples, expected at least 8"),
        ([{"y": rows(1, 4)}], r"quantize: data\[0\] has 'y', the model's inputs are 'x'"),
        ([{}], r"quantize: data\[0\] has no array for the input 'x'"),
        ([(rows(1, 4), rows(1, 4))], r"quantize: data\[0\] has 2 arrays, the model's inputs are 'x'"),
        (["x"], r"quantize: data\[0\] is a str, expected an array or arrays by name"),
        ([rows(1, 5)], r"quantize: run 0 of the data: 'x' is \(1, 5\), expected \(n, 4\)"),
        ([rows(1, 4), rows(4)], r"quantize: run 1 of the data: 'x' is \(4\), expected \(n, 4\)"),
        ([rows(1, 4).astype(np.float64)], "run 0 of the data: 'x' is float64, expected float32"),
        ([rows(0, 4)], "run 0 of the data: 'x' is empty"),
        ([rows(9, 4), BAD], "run 1 of the data: 'x' is not finite: it has NaN or infinity"),
        (np.ones((9, 4), np.float32), "all elements of 'x' in the data are 1.0, which says nothing"),
        ("/nowhere/at/all", "quantize: there is no file or folder /nowhere/at/all"),
    ],
)
def test_invalid_data_are_named(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        calibration_runs(one_input("n", 4), data)


def test_an_invalid_npz_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_text("text")

    with pytest.raises(InputError, match=r"x\.npz is no \.npz of plain arrays"):
        calibration_runs(one_input("n", 4), tmp_path / "x.npz")
    (tmp_path / "x.npz").unlink()
    with pytest.raises(InputError, match=r"the folder .* has no \.npz or \.npy files"):
        calibration_runs(one_input("n", 4), tmp_path)


def test_fewer_examples_are_accepted_on_request() -> None:
    assert len(calibration_runs(one_input(1, 4), images(2, (1, 4)), least=2)) == 2
