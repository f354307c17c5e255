"""One random call of each family of operators, at extents over named dimensions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tvmlite.fuzz.symbolic.dims import extent, fixed_or_open
from tvmlite.fuzz.symbolic.inputs import Inputs, call, with_epilogue
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Expr, TupleGetItem, constant
from tvmlite.relay.ir.types import Dim, normal_dim
from tvmlite.te import expr as te

Family: TypeAlias = Callable[[Inputs, random.Random], Expr]

FAMILIES: dict[str, Callable[[Inputs], Expr]] = {}
"""The families by name; if their result is of floats, more operators follow."""


def family(function: Family) -> Family:
    """Register the decorated function by its name."""

    def made(inputs: Inputs) -> Expr:
        value = function(inputs, inputs.rnd)
        type_ = tensor_type_of(value)
        return with_epilogue(inputs, value, type_.shape) if type_.dtype == "float32" else value

    FAMILIES[function.__name__] = made
    return function


def some_shape(rnd: random.Random, least: int = 1, most: int = 3) -> list[Dim]:
    """Return extents, at least one of which is open."""
    shape: list[Dim] = [fixed_or_open(rnd, (1, 2, 3, 5, 8, 16)) for _ in range(rnd.randint(least, most))]
    shape[rnd.randrange(len(shape))] = extent(rnd)
    return shape


@family
def dense(inputs: Inputs, rnd: random.Random) -> Expr:
    """A dense layer of constant depth and units, of data with open leading axes."""
    depth, units = rnd.choice((3, 8, 16, 33, 64)), rnd.choice((1, 5, 16, 24, 40, 96))
    data = inputs.tensor((*some_shape(rnd, 1, 2), depth))
    return call("nn.dense", data, inputs.weight((units, depth)))


@family
def dense_of_open_depth(inputs: Inputs, rnd: random.Random) -> Expr:
    """A dense layer whose reduction has an open extent."""
    depth, columns = extent(rnd), fixed_or_open(rnd, (5, 16, 24))
    data, weight = inputs.tensor((extent(rnd), depth)), inputs.tensor((columns, depth))
    return call("nn.dense", data, weight)


@family
def matmul(inputs: Inputs, rnd: random.Random) -> Expr:
    """A matrix product, either operand transposed or not."""
    rows, depth, columns = (fixed_or_open(rnd, (1, 4, 7, 16, 24), 0.6) for _ in range(3))
    transposed_a, transposed_b = rnd.random() < 0.4, rnd.random() < 0.4
    a = inputs.tensor((depth, rows) if transposed_a else (rows, depth))
    b = inputs.tensor((columns, depth) if transposed_b else (depth, columns))
    return call("nn.matmul", a, b, transpose_a=transposed_a, transpose_b=transposed_b)


@family
def batch_matmul(inputs: Inputs, rnd: random.Random) -> Expr:
    """A batch of matrix products; the second operand may have a batch of 1, which is broadcast."""
    batch = fixed_or_open(rnd, (1, 2, 6))
    rows, depth, columns = (fixed_or_open(rnd, (1, 4, 8, 16), 0.6) for _ in range(3))
    transposed = rnd.random() < 0.5
    a = inputs.tensor((batch, rows, depth))
    b = inputs.tensor((rnd.choice((batch, 1)), *((columns, depth) if transposed else (depth, columns))))
    return call("nn.batch_matmul", a, b, transpose_b=transposed)


@family
def quantized_dense(inputs: Inputs, rnd: random.Random) -> Expr:
    """A dense layer of 8-bit integers that sums in int32, mostly scaled or quantized afterwards."""
    depth, units = rnd.choice((4, 16, 24, 64)), rnd.choice((5, 16, 40))
    data = inputs.tensor((*some_shape(rnd, 1, 2), depth), rnd.choice(("int8", "uint8")))
    made = call("nn.dense", data, inputs.weight((units, depth), "int8"), out_dtype="int32")
    return _requantized(inputs, made)


@family
def dynamically_quantized(inputs: Inputs, rnd: random.Random) -> Expr:
    """A dense layer whose data is quantized to int8 by its own largest magnitude, and scaled back."""
    depth, units = rnd.choice((8, 16, 24)), rnd.choice((5, 16, 40))
    data = inputs.tensor((*some_shape(rnd, 1, 2), depth))
    largest = call("maximum", call("max", call("abs", data)), constant(np.float32(0.5)))
    scale = call("multiply", largest, constant(np.float32(1 / 127)))
    steps = call("qnn.quantize", data, scale, constant(np.int8(0)))
    made = call("nn.dense", steps, inputs.weight((units, depth), "int8"), out_dtype="int32")
    return call("multiply", call("cast", made, dtype="float32"), scale)


def _requantized(inputs: Inputs, made: Expr) -> Expr:
    if inputs.rnd.random() < 0.3:
        return made
    scaled = call("multiply", call("cast", made, dtype="float32"), constant(np.float32(0.0625)))
    if inputs.rnd.random() < 0.5:
        return scaled
    return call("qnn.quantize", scaled, constant(np.float32(0.5)), constant(np.uint8(3)), out_dtype="uint8")


def _image(inputs: Inputs, channels: int, rank: int, dtype: str = "float32") -> Expr:
    rnd = inputs.rnd
    places = [normal_dim(fixed_or_open(rnd, (4, 7, 9), 0.7) + 3) for _ in range(rank)]
    places[rnd.randrange(rank)] = normal_dim(extent(rnd) + 3)
    return inputs.tensor((fixed_or_open(rnd, (1, 2), 0.4), channels, *places), dtype)


def _window(rnd: random.Random, rank: int) -> tuple[tuple[int, ...], dict[str, tuple[int, ...]]]:
    """Return a kernel of at most 3 elements per axis, which fits 4, and its strides and padding."""
    kernel = tuple(rnd.choice((1, 2, 3)) for _ in range(rank))
    strides = tuple(rnd.choice((1, 1, 2, 3)) for _ in range(rank))
    padding = tuple(rnd.choice((0, 1)) if n > 1 else 0 for n in kernel)
    padding += tuple(rnd.choice((0, 1)) if n > 1 else 0 for n in kernel)
    return kernel, {"strides": strides, "padding": padding}


def _convolution(inputs: Inputs, rank: int, dtype: str = "float32") -> Expr:
    rnd = inputs.rnd
    kernel, attrs = _window(rnd, rank)
    many = (1, 3, 8, 16, 32) if rank < 3 else (1, 4, 16)
    kind = rnd.choice(("whole", "whole", "grouped", "depthwise"))
    channels, groups, made = rnd.choice(many), 1, rnd.choice((*many, 20))
    if kind == "grouped":
        channels, groups, made = 2 * rnd.choice((1, 4, 16)), 2, 2 * rnd.choice((1, 5, 16))
    elif kind == "depthwise":
        groups = made = channels = rnd.choice((3, 16, 20, 32))
    dilation = tuple(rnd.choice((1, 1, 2)) if n == 2 else 1 for n in kernel)
    data = _image(inputs, channels, rank, dtype)
    weight = inputs.weight((made, channels // groups, *kernel), "int8" if dtype != "float32" else dtype)
    out = {} if dtype == "float32" else {"out_dtype": "int32"}
    return call(f"nn.conv{rank}d", data, weight, groups=groups, dilation=dilation, **attrs, **out)


@family
def conv1d(inputs: Inputs, rnd: random.Random) -> Expr:
    """A convolution over one spatial axis: ungrouped, grouped or depthwise."""
    return _convolution(inputs, 1)


@family
def conv2d(inputs: Inputs, rnd: random.Random) -> Expr:
    """A convolution over two spatial axes: ungrouped, grouped or depthwise."""
    return _convolution(inputs, 2)


@family
def conv3d(inputs: Inputs, rnd: random.Random) -> Expr:
    """A convolution over three spatial axes: ungrouped, grouped or depthwise."""
    return _convolution(inputs, 3)


@family
def two_conv2d(inputs: Inputs, rnd: random.Random) -> Expr:
    """A 2D convolution and relu, followed by a pointwise convolution."""
    first = call("nn.relu", _convolution(inputs, 2))
    channels = tensor_type_of(first).shape[1]
    assert isinstance(channels, int)
    weight = inputs.weight((rnd.choice((8, 16)), channels, 1, 1))
    return call("nn.conv2d", first, weight)


@family
def quantized_conv(inputs: Inputs, rnd: random.Random) -> Expr:
    """A 1D or 2D convolution of 8-bit integers that sums in int32, mostly scaled or quantized afterwards."""
    return _requantized(inputs, _convolution(inputs, rnd.choice((1, 2)), rnd.choice(("int8", "uint8"))))


@family
def conv_transpose(inputs: Inputs, rnd: random.Random) -> Expr:
    """A transposed convolution over one or two spatial axes."""
    rank = rnd.choice((1, 2))
    kernel, attrs = _window(rnd, rank)
    channels, made = rnd.choice((1, 4, 16)), rnd.choice((1, 5, 16))
    data, weight = _image(inputs, channels, rank), inputs.weight((channels, made, *kernel))
    return call(f"nn.conv{rank}d_transpose", data, weight, **attrs)


@family
def pool(inputs: Inputs, rnd: random.Random) -> Expr:
    """Max or average pooling over one to three spatial axes, with strides, padding and ``ceil_mode``."""
    rank, kind = rnd.choice((1, 2, 2, 3)), rnd.choice(("max", "avg"))
    kernel, attrs = _window(rnd, rank)
    further = {"ceil_mode": rnd.random() < 0.3}
    if kind == "avg":
        further["count_include_pad"] = rnd.random() < 0.5
    data = _image(inputs, rnd.choice((1, 3, 16)), rank)
    return call(f"nn.{kind}_pool{rank}d", data, pool_size=kernel, **attrs, **further)


@family
def whole_pool(inputs: Inputs, rnd: random.Random) -> Expr:
    """Global or adaptive 2D pooling, whose windows depend on the image's open extents."""
    data, kind = _image(inputs, rnd.choice((1, 3, 16)), 2), rnd.choice(("max", "avg"))
    if rnd.random() < 0.5:
        return call(f"nn.global_{kind}_pool2d", data)
    size = (rnd.choice((1, 2, 3)), rnd.choice((1, 2, 4)))
    return call(f"nn.adaptive_{kind}_pool2d", data, output_size=size)


@family
def softmax(inputs: Inputs, rnd: random.Random) -> Expr:
    """Softmax or its logarithm along any axis."""
    shape = some_shape(rnd)
    name = rnd.choice(("nn.softmax", "nn.log_softmax"))
    return call(name, inputs.tensor(shape), axis=rnd.randrange(len(shape)))


@family
def norm(inputs: Inputs, rnd: random.Random) -> Expr:
    """A layer, RMS, instance, group or L2 normalization."""
    size = rnd.choice((3, 16, 40))
    kind = rnd.choice(("layer", "rms", "instance", "group", "l2"))
    if kind in ("layer", "rms"):
        data = inputs.tensor((*some_shape(rnd, 1, 2), size))
        weights = [inputs.weight((size,)) for _ in range(2 if kind == "layer" else 1)]
        return call(f"nn.{kind}_norm", data, *weights)
    if kind == "l2":
        shape = some_shape(rnd)
        return call("nn.l2_normalize", inputs.tensor(shape), eps=1e-3, axis=(len(shape) - 1,))
    channels = rnd.choice((2, 4, 16))
    data = _image(inputs, channels, 2)
    weights = [inputs.weight((channels,)), inputs.weight((channels,))]
    further = {"num_groups": 2} if kind == "group" else {}
    return call(f"nn.{kind}_norm", data, *weights, **further)


@family
def reduction(inputs: Inputs, rnd: random.Random) -> Expr:
    """A sum, mean, maximum or minimum over any of the axes."""
    shape = some_shape(rnd, 1, 4)
    axes = tuple(sorted(rnd.sample(range(len(shape)), rnd.randint(1, len(shape)))))
    name = rnd.choice(("sum", "mean", "max", "min"))
    made = call(name, inputs.tensor(shape), axis=axes, keepdims=rnd.random() < 0.5)
    return made


@family
def arg_reduction(inputs: Inputs, rnd: random.Random) -> Expr:
    """The index of the maximum or minimum along one axis."""
    shape = some_shape(rnd, 1, 3)
    name = rnd.choice(("argmax", "argmin"))
    return call(name, inputs.param(shape), axis=(rnd.randrange(len(shape)),), keepdims=rnd.random() < 0.5)


@family
def attention(inputs: Inputs, rnd: random.Random) -> Expr:
    """Attention as one operator, with open numbers of queries and keys and masks of several shapes."""
    batch, heads = fixed_or_open(rnd, (1, 2), 0.4), rnd.choice((1, 2, 4))
    queries, keys = fixed_or_open(rnd, (1, 4, 16), 0.7), extent(rnd)
    depth, width = rnd.choice((4, 8, 16)), rnd.choice((4, 16))
    q = inputs.tensor((batch, heads, queries, depth))
    k, v = inputs.tensor((batch, heads, keys, depth)), inputs.tensor((batch, heads, keys, width))
    mask = rnd.choice(((), (queries, keys), (batch, 1, 1, keys)))
    made = call("nn.attention", q, k, v, inputs.param(mask), scale=0.5)
    return made


@family
def composed_attention(inputs: Inputs, rnd: random.Random) -> Expr:
    """Attention written as two batched products with softmax in between."""
    batch, queries, keys = (fixed_or_open(rnd, (2, 5), 0.7) for _ in range(3))
    depth = rnd.choice((4, 16))
    scores = call(
        "nn.batch_matmul", inputs.tensor((batch, queries, depth)), inputs.tensor((batch, keys, depth))
    )
    weights = call("nn.softmax", call("multiply", scores, constant(np.float32(0.25))))
    values = inputs.tensor((batch, keys, rnd.choice((4, 16))))
    return call("nn.batch_matmul", weights, values, transpose_b=False)


@family
def concatenate(inputs: Inputs, rnd: random.Random) -> Expr:
    """Two to four tensors with different extents along any axis, concatenated along it."""
    shape = some_shape(rnd)
    axis, parts = rnd.randrange(len(shape)), []
    for _ in range(rnd.randint(2, 4)):
        part = list(shape)
        part[axis] = fixed_or_open(rnd, (1, 2, 5), 0.6)
        parts.append(inputs.tensor(part))
    return call("concatenate", parts, axis=axis)


@family
def slices(inputs: Inputs, rnd: random.Random) -> Expr:
    """A strided slice of one open axis, whose bounds may be negative, open or past the end."""
    shape = some_shape(rnd)
    axis, least = rnd.randrange(len(shape)), extent(rnd)
    shape[axis] = normal_dim(least + rnd.randint(0, 3))
    begin = rnd.choice((0, 0, 1, -2))
    end = rnd.choice((least, 2**31, normal_dim(least - 1), -1))
    stride = rnd.choice((1, 1, 2, 3))
    made = call(
        "strided_slice", inputs.tensor(shape), begin=(begin,), end=(end,), strides=(stride,), axes=(axis,)
    )
    return made


@family
def pad(inputs: Inputs, rnd: random.Random) -> Expr:
    """A pad of all axes, by a constant, the edge or a mirror image."""
    shape = some_shape(rnd)
    mode = rnd.choice(("constant", "constant", "edge", "reflect"))
    most = 0 if mode == "reflect" else 3
    if mode == "reflect":
        shape = [normal_dim(one + 2) for one in shape]
        most = 2
    widths = tuple((rnd.randint(0, most), rnd.randint(0, most)) for _ in shape)
    return call("nn.pad", inputs.tensor(shape), pad_width=widths, pad_mode=mode)


@family
def resize(inputs: Inputs, rnd: random.Random) -> Expr:
    """A 2D resize to a multiple of the image's open extents, half of them, or to others."""
    data = _image(inputs, rnd.choice((1, 3, 16)), 2)
    height, width = tensor_type_of(data).shape[2:]
    size = rnd.choice(
        (
            (normal_dim(height * 2), normal_dim(width * 2)),
            (normal_dim((height + 1) // 2), width),
            (extent(rnd), extent(rnd)),
            (rnd.choice((4, 9)), extent(rnd)),
        )
    )
    inputs.extents += size
    method = rnd.choice(("nearest_neighbor", "linear", "cubic"))
    mode = rnd.choice(("half_pixel", "asymmetric", "align_corners"))
    if method == "nearest_neighbor":
        mode = "asymmetric"
    return call("image.resize2d", data, size=size, method=method, coordinate_transformation_mode=mode)


@family
def take(inputs: Inputs, rnd: random.Random) -> Expr:
    """Slices taken along one axis, by int32 or int64 indices of one or two axes."""
    shape = some_shape(rnd)
    indices = inputs.param(some_shape(rnd, 1, 2), rnd.choice(("int32", "int64")))
    return call("take", inputs.tensor(shape), indices, axis=rnd.randrange(len(shape)))


@family
def gather(inputs: Inputs, rnd: random.Random) -> Expr:
    """Elements gathered along one axis, by indices reduced modulo its extent."""
    shape = some_shape(rnd, 2, 3)
    axis = rnd.randrange(len(shape))
    places = list(shape)
    places[axis] = fixed_or_open(rnd, (1, 3))
    wanted = inputs.param(places, "int64")
    limit = call("shape_value", values=(shape[axis],))
    inside = call("floor_mod", wanted, limit)
    return call("gather", inputs.tensor(shape), inside, axis=axis)


@family
def transpose(inputs: Inputs, rnd: random.Random) -> Expr:
    """A random permutation of the axes."""
    shape = some_shape(rnd, 2, 4)
    axes = list(range(len(shape)))
    rnd.shuffle(axes)
    return call("transpose", inputs.tensor(shape), axes=tuple(axes))


@family
def elementwise(inputs: Inputs, rnd: random.Random) -> Expr:
    """One to four binary operators in a chain, whose second operand may be broadcast."""
    shape = some_shape(rnd, 1, 4)
    value = inputs.tensor(shape)
    for _ in range(rnd.randint(1, 4)):
        other = [one if rnd.random() < 0.6 else 1 for one in shape[rnd.randrange(len(shape)) :]]
        value = call(rnd.choice(("add", "multiply", "maximum", "subtract")), value, inputs.tensor(other))
    return value


@family
def cumulative(inputs: Inputs, rnd: random.Random) -> Expr:
    """A cumulative sum along any axis."""
    shape = some_shape(rnd)
    return call("cumsum", inputs.tensor(shape), axis=rnd.randrange(len(shape)))


@family
def sorting(inputs: Inputs, rnd: random.Random) -> Expr:
    """A sort in either direction, or the two greatest elements, along any axis."""
    shape = some_shape(rnd)
    data, axis = inputs.param(shape), rnd.randrange(len(shape))
    if rnd.random() < 0.5:
        return call("sort", data, axis=axis, is_ascend=rnd.random() < 0.5)
    return call(
        "topk",
        data,
        k=normal_dim(te.Min(te.convert(shape[axis], "int64"), te.const(2, "int64"))),
        axis=axis,
        ret_type="values",
    )


@family
def repeats(inputs: Inputs, rnd: random.Random) -> Expr:
    """A tile of several axes, or each element repeated along one."""
    shape = some_shape(rnd)
    data = inputs.tensor(shape)
    if rnd.random() < 0.5:
        return call("tile", data, reps=tuple(rnd.choice((1, 2, 3)) for _ in shape))
    return call("repeat", data, repeats=rnd.choice((2, 3)), axis=rnd.randrange(len(shape)))


@family
def split(inputs: Inputs, rnd: random.Random) -> Expr:
    """A gated unit: an axis of even extent split in halves, one times the sigmoid of the other."""
    shape = some_shape(rnd)
    axis = rnd.randrange(len(shape))
    half = shape[axis]
    shape[axis] = normal_dim(half * 2)
    parts = call("split", inputs.tensor(shape), indices_or_sections=2, axis=axis)
    return call("multiply", TupleGetItem(parts, 0), call("sigmoid", TupleGetItem(parts, 1)))


@family
def depth_to_space(inputs: Inputs, rnd: random.Random) -> Expr:
    """``depth_to_space`` by blocks of 2 x 2, in either order of channels."""
    data = _image(inputs, 4 * rnd.choice((1, 4)), 2)
    return call("nn.depth_to_space", data, block_size=2, mode=rnd.choice(("DCR", "CRD")))


@family
def recurrent(inputs: Inputs, rnd: random.Random) -> Expr:
    """The scan of an RNN, GRU or LSTM layer with open numbers of steps and sequences."""
    steps, batch, size = fixed_or_open(rnd, (1, 4), 0.7), fixed_or_open(rnd, (1, 3), 0.6), rnd.choice((5, 16))
    blocks = -(-size // 16)
    kind, gates, states = rnd.choice((("rnn", 1, 1), ("gru", 3, 1), ("lstm", 4, 2)))
    data = inputs.tensor((steps, batch, gates * size))
    recurrence = inputs.weight((blocks, size, gates, 16))
    extra: Sequence[int] = {"rnn": (), "gru": (size,) * 1, "lstm": (3 * size,)}[kind]
    vectors = [inputs.weight((3 * size if kind == "gru" else one,)) for one in extra]
    first = [inputs.tensor((batch, size)) for _ in range(states)]
    lengths = call("cast", call("full", constant(np.int64(2)), shape=(batch,)), dtype="int32")
    gate, out = ("sigmoid", 0.0, 0.0), ("tanh", 0.0, 0.0)
    functions = {"rnn": (out,), "gru": (gate, out), "lstm": (gate, out, out)}[kind]
    made = call(f"nn.{kind}_scan", data, recurrence, *vectors, *first, lengths, activations=functions)
    return TupleGetItem(made, 0)
