"""Calibration data: convert the forms that users have it in to a list of runs, and check it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError
from tvmlite.relay.ir.attributes import describe, show
from tvmlite.relay.ir.nodes import Module, Var
from tvmlite.relay.ir.types import Dim, TensorType, same_dim, show_shape

Run: TypeAlias = dict[str, np.ndarray]
"""The inputs of one run, by name."""

LEAST_EXAMPLES = 8
"""The least number of examples (rows along the first axis): ranges measured on fewer are unreliable."""

DEFAULT_ROWS = 16
"""The number of rows of an array in one run, if the model leaves that number open."""


def calibration_runs(module: Module, data: Any, least: int = LEAST_EXAMPLES) -> list[Run]:
    """``data`` as runs of ``module``, checked.

    ``data`` is an ``.npz`` of arrays named after inputs, a folder of such files and of ``.npy`` files, read
    in the order of their names, or an iterable: of mappings by name, of sequences of arrays in the order of
    inputs, or, for a model with one input, of arrays. Arrays that are longer along their first axis than an
    input, or have an additional first axis, are split into several runs.

    An InputError names the run and the input: a wrong name, dtype or shape, NaN or infinity, data with only
    one value, or fewer than ``least`` examples.
    """
    if type(least) is not int or least < 1:
        raise InputError(f"quantize: min_examples is {show(least)}, expected 1 or more")
    inputs = list(module.main.params)
    runs = [
        run
        for label, one in _items(data, inputs)
        for run in _split_into_runs(inputs, _by_input_name(inputs, one, label), label)
    ]
    for number, run in enumerate(runs):
        _check(inputs, run, number)
    examples = sum(_rows(next(iter(run.values()))) for run in runs if run)
    if examples < least:
        raise InputError(
            f"quantize: data has {examples} example{'s' * (examples != 1)}, expected at least {least}",
            hint="ranges from so few examples are unreliable; min_examples= allows fewer",
        )
    for one in inputs:
        _check_varied(one, [run[one.name] for run in runs])
    return runs


def _rows(array: np.ndarray) -> int:
    return array.shape[0] if array.ndim else 1


def _items(data: Any, inputs: Sequence[Var]) -> Iterable[tuple[str, Any]]:
    """The parts of ``data``, each with its name in errors."""
    if isinstance(data, (str, Path)):
        yield from _files(Path(data))
    elif isinstance(data, Mapping):
        yield "data", data
    elif isinstance(data, np.ndarray):
        yield "data", [data]
    elif data is None or not isinstance(data, Iterable):
        raise InputError(
            f"quantize: data is {describe(data)}, expected an .npz, a folder, or a list of inputs",
            hint="some dozen typical inputs: ranges of activations are measured on them",
        )
    else:
        for number, one in enumerate(data):
            yield f"data[{number}]", one


def _files(path: Path) -> Iterable[tuple[str, Any]]:
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if one.suffix in (".npz", ".npy"))
        if not found:
            raise InputError(f"quantize: the folder {path} has no .npz or .npy files")
        for one in found:
            yield from _files(one)
        return
    if not path.exists():
        raise InputError(f"quantize: there is no file or folder {path}")
    try:
        loaded = np.load(path, allow_pickle=False)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"quantize: {path} is no {path.suffix} of plain arrays ({error})") from error
    if isinstance(loaded, np.ndarray):
        yield str(path), [loaded]
        return
    with loaded as file:
        yield str(path), {name: file[name] for name in file.files}


def _by_input_name(inputs: Sequence[Var], given: Any, label: str) -> Run:
    """``given`` as a mapping by the names of inputs."""
    names = [one.name for one in inputs]
    if isinstance(given, np.ndarray):
        given = [given]
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise InputError(f"quantize: {label} has {name!r}, the model's inputs are {_listed(names)}")
        for name in names:
            if name not in given:
                raise InputError(f"quantize: {label} has no array for the input {name!r}")
        return {name: np.asarray(given[name]) for name in names}
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InputError(f"quantize: {label} is {describe(given)}, expected an array or arrays by name")
    if len(given) != len(names):
        arrays = f"{len(given)} array{'s' * (len(given) != 1)}"
        raise InputError(f"quantize: {label} has {arrays}, the model's inputs are {_listed(names)}")
    return {name: np.asarray(one) for name, one in zip(names, given, strict=True)}


def _split_into_runs(inputs: Sequence[Var], given: Run, label: str) -> list[Run]:
    """Split ``given`` into runs if its arrays are longer than the inputs."""
    shapes = {one.name: one.type.shape for one in inputs if isinstance(one.type, TensorType)}
    if all(given[name].ndim == len(shape) + 1 for name, shape in shapes.items()):
        counts = {array.shape[0] for array in given.values()}
        if len(counts) == 1:
            return [{name: array[k] for name, array in given.items()} for k in range(counts.pop())]
    rows = {name: _rows(array) for name, array in given.items()}
    if any(given[name].ndim != len(shape) or not shape for name, shape in shapes.items()):
        return [given]
    first: list[Dim] = [shape[0] for shape in shapes.values()]
    if len(set(rows.values())) != 1 or not all(same_dim(one, first[0]) for one in first):
        return [given]
    step = first[0] if isinstance(first[0], int) else DEFAULT_ROWS
    total = next(iter(rows.values()))
    if not step or total <= step or (isinstance(first[0], int) and total % step):
        return [given]
    return [{name: array[k : k + step] for name, array in given.items()} for k in range(0, total, step)]


def _check(inputs: Sequence[Var], run: Run, number: int) -> None:
    for one in inputs:
        type_, array = one.type, run[one.name]
        if not isinstance(type_, TensorType):
            raise InputError(f"quantize: the input {one.name!r} is no tensor, which has no calibration data")
        where = f"quantize: run {number} of the data: {one.name!r} is"
        if array.dtype != dtypes.numpy_of(type_.dtype):
            raise InputError(f"{where} {array.dtype}, expected {type_.dtype}")
        fits = array.ndim == type_.ndim and all(
            not isinstance(extent, int) or extent == given
            for extent, given in zip(type_.shape, array.shape, strict=True)
        )
        if not fits:
            shape = ", ".join(map(str, array.shape))
            raise InputError(f"{where} ({shape}), expected {show_shape(type_.shape)}")
        if not array.size:
            raise InputError(f"{where} empty")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{where} not finite: it has NaN or infinity")


def _check_varied(one: Var, arrays: Sequence[np.ndarray]) -> None:
    first = arrays[0].reshape(-1)[0]
    if arrays[0].dtype.kind == "f" and one.type.shape and all((array == first).all() for array in arrays):  # type: ignore[union-attr]
        raise InputError(
            f"quantize: all elements of {one.name!r} in the data are {first}, which says nothing of its range"
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
