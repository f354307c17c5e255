"""Seeded inputs for trained models, created from the names, types and shapes of their inputs.

Images show letters, sound is quiet noise, ids are valid rows of the embedding in which they are looked up,
masks are ones, lengths are those of the other inputs, states are zeros at the first size and small at the
second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from trained.ids import id_limits
from trained.listing import Hint

Shape = tuple[int | str, ...]

BATCHES = (1, 2)
TOKENS = (12, 37)
FRAMES = (60, 101)
SAMPLES = (8000, 20000)
PIXELS = ((160, 224), (224, 320))
"""Values of symbolic dimensions at the first and the second size; for pixels, of rows and columns."""

DOT, LETTER, ROW, GAP = 2, 6, 12, 5
"""The pixels of a dot of the artificial letters; the letters' width, a line's height, and the gap between
lines, in dots."""

SAMPLE_RATE = 16000

SOUND = re.compile(r"audio|wav|signal|sample|pcm|speech|sound", re.IGNORECASE)
STATE = re.compile(r"state|hidden|cache|context|memory|past|recurrent|^[hc][0-9]?$|^[hc][n_]", re.IGNORECASE)
LENGTH = re.compile(r"len|num_|size", re.IGNORECASE)
RATE = re.compile(r"^sr$|sampl\w*.?rate", re.IGNORECASE)


def made_inputs(model: onnx.ModelProto, hint: Hint = Hint(), seed: int = 0) -> list[dict[str, np.ndarray]]:
    """Inputs by name: two sets of different sizes if ``model`` or ``hint`` has symbolic dimensions."""
    initializers = {one.name for one in model.graph.initializer}
    values = [one for one in model.graph.input if one.name not in initializers]
    shapes = {one.name: _shape(one) for one in values}
    dtypes = {one.name: _dtype(one) for one in values}
    limits = id_limits(model.graph)
    made = []
    for size in range(2 if _is_open(shapes, hint) else 1):
        sized = _sized(shapes, dtypes, hint, size)
        random = np.random.default_rng(seed + size)
        longest = max((sized[name][axis] for name, axis in _length_axes(shapes)), default=1)
        made.append(
            {
                name: _values(
                    name, dtypes[name], shape, hint.inputs.get(name, {}), limits, longest, size, random
                )
                for name, shape in sized.items()
            }
        )
    return made


def _shape(value: onnx.ValueInfoProto) -> Shape:
    """The extents; a symbolic one is its name, or ``INPUT.AXIS`` if it has none: "" and "?" are no names."""
    extents = value.type.tensor_type.shape.dim
    return tuple(
        one.dim_value
        if one.dim_value > 0
        else one.dim_param
        if any(letter.isalnum() for letter in one.dim_param)
        else f"{value.name}.{axis}"
        for axis, one in enumerate(extents)
    )


def _dtype(value: onnx.ValueInfoProto) -> np.dtype:
    return np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))


def _is_open(shapes: Mapping[str, Shape], hint: Hint) -> bool:
    given = [*hint.dims.values(), *(one["shapes"] for one in hint.inputs.values() if "shapes" in one)]
    if given:
        return any(len(one) > 1 for one in given)
    return any(isinstance(extent, str) for shape in shapes.values() for extent in shape)


def _length_axes(shapes: Mapping[str, Shape]) -> list[tuple[str, int]]:
    """The inputs and axes with symbolic extents that are along time or words."""
    return [
        (name, axis)
        for name, shape in shapes.items()
        for axis, extent in enumerate(shape)
        if isinstance(extent, str) and not _is_batch(extent, axis, len(shape))
    ]


def _is_batch(extent: str, axis: int, rank: int) -> bool:
    return "batch" in extent.lower() or (axis == 0 and rank > 1)


def _sized(
    shapes: Mapping[str, Shape], dtypes: Mapping[str, np.dtype], hint: Hint, size: int
) -> dict[str, tuple[int, ...]]:
    """The shapes at ``size``, 0 or 1; dimensions with the same name have the same extent in all of them."""
    extents: dict[str, int] = {name: values[min(size, len(values) - 1)] for name, values in hint.dims.items()}
    made = {}
    for name, shape in shapes.items():
        given = hint.inputs.get(name, {}).get("shapes")
        if given is not None:
            made[name] = tuple(given[min(size, len(given) - 1)])
            continue
        for axis, extent in enumerate(shape):
            if isinstance(extent, str):
                extents.setdefault(extent, _extent(name, axis, shape, dtypes[name], size))
        made[name] = tuple(one if isinstance(one, int) else extents[one] for one in shape)
    return made


def _extent(name: str, axis: int, shape: Shape, dtype: np.dtype, size: int) -> int:
    """The value of the symbolic extent ``axis`` of an input at ``size``."""
    extent = str(shape[axis])
    if _is_image(shape):
        spatial = [i for i in range(1, 4) if shape[i] not in (1, 3, 4)]
        return BATCHES[size] if axis == 0 else PIXELS[spatial.index(axis) % 2][size]
    if _is_batch(extent, axis, len(shape)):
        return BATCHES[size]
    if SOUND.search(name) or SOUND.search(extent):
        return SAMPLES[size]
    return (FRAMES if dtype.kind == "f" else TOKENS)[size]


def _is_image(shape: Shape) -> bool:
    return len(shape) == 4 and any(shape[axis] in (1, 3, 4) for axis in (1, 3))


def _values(
    name: str,
    dtype: np.dtype,
    shape: tuple[int, ...],
    given: Mapping[str, Any],
    limits: Mapping[str, int],
    longest: int,
    size: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Values for one input: as given by ``given``, or as its name and type suggest."""
    if "fill" in given:
        return np.broadcast_to(np.asarray(given["fill"], dtype), shape).copy()
    if "high" in given:
        return random.integers(given.get("low", 0), given["high"], shape).astype(dtype)
    if name in limits:
        return random.integers(0, limits[name], shape).astype(dtype)
    if dtype.kind == "f":
        return _floats(name, shape, size, random).astype(dtype)
    if dtype.kind == "b" or "mask" in name.lower():
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        return _integers(name, dtype, shape, longest, random).astype(dtype)
    return np.full(shape, "text", dtype)


def _floats(name: str, shape: tuple[int, ...], size: int, random: np.random.Generator) -> np.ndarray:
    if "mask" in name.lower() or len(shape) == 0:
        return np.ones(shape)
    if STATE.search(name):
        return random.standard_normal(shape) * (0.1 if size else 0)
    if _is_image(shape):
        return picture(shape, random)
    if SOUND.search(name) or (len(shape) <= 3 and shape[-1] >= 4000):
        return random.standard_normal(shape) * 0.1
    return random.standard_normal(shape)


def picture(shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """Images of ``shape``, with 1, 3 or 4 channels in the second or last axis: lines of artificial dark
    letters on light paper, in [0, 1]. In noise a detector would find nothing, and its result would be
    meaningless."""
    last = shape[1] not in (1, 3, 4)
    batch, rows, columns = (shape[axis] for axis in ((0, 1, 2) if last else (0, 2, 3)))
    letters = (
        random.random((batch, rows // (ROW * DOT) + 1, columns // (LETTER * DOT) + 1, ROW, LETTER)) < 0.5
    )
    letters[..., -GAP:, :] = letters[..., -1] = False
    dots = letters.transpose(0, 1, 3, 2, 4).reshape(batch, -1, letters.shape[2] * LETTER)
    ink = dots.repeat(DOT, 1).repeat(DOT, 2)[:, :rows, :columns]
    paper = 0.9 - 0.7 * ink + 0.1 * random.random((batch, rows, columns))
    return np.broadcast_to(np.expand_dims(paper, 3 if last else 1), shape)


def _integers(
    name: str, dtype: np.dtype, shape: tuple[int, ...], longest: int, random: np.random.Generator
) -> np.ndarray:
    if RATE.search(name):
        return np.full(shape, SAMPLE_RATE)
    if LENGTH.search(name):
        return np.full(shape, longest)
    if re.search(r"type|segment", name):
        return np.zeros(shape)
    if "position" in name and shape:
        return np.indices(shape)[-1]
    if dtype == np.uint8:
        return picture(shape, random) * 255 if _is_image(shape) else random.integers(0, 256, shape)
    if dtype == np.int16:
        return random.standard_normal(shape) * 3000
    return random.integers(0, 2, shape)
