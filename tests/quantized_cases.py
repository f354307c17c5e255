"""Random nodes of quantized operators: what onnxruntime takes of shapes, signs, scales and zero points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


@dataclass
class Case:
    """A node and its inputs in order, None for omitted ones; ``constants``: indices of constant inputs."""

    op_type: str
    inputs: list[Any]
    constants: Sequence[int]
    attrs: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    domain: str = ""

    def model(self) -> ModelProto:
        names = ["" if x is None else f"x{k}" for k, x in enumerate(self.inputs)]
        outputs = [f"y{k}" for k in range(self.outputs)]
        node = helper.make_node(self.op_type, names, outputs, domain=self.domain, **self.attrs)
        given = [
            helper.make_tensor_value_info(names[k], helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for k, x in enumerate(self.inputs)
            if x is not None and k not in self.constants
        ]
        held = [
            numpy_helper.from_array(self.inputs[k], names[k])
            for k in self.constants
            if k < len(self.inputs) and self.inputs[k] is not None
        ]
        made = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph([node], "quantized", given, made, held)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def given(self) -> list[np.ndarray]:
        return [x for k, x in enumerate(self.inputs) if x is not None and k not in self.constants]


class Source:
    """Random arrays and choices."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def choice(self, *options: Any) -> Any:
        return options[self.random.integers(len(options))]

    def number(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high, endpoint=True))

    def whole(self, dtype: str, *shape: int) -> np.ndarray:
        limits = np.iinfo(dtype)
        return np.asarray(self.random.integers(limits.min, limits.max, shape, dtype, endpoint=True))

    def scales(self, *shape: int, low: float = 0.002, high: float = 0.1) -> np.ndarray:
        return np.asarray(self.random.uniform(low, high, shape), np.float32)

    def floats(self, *shape: int) -> np.ndarray:
        return np.asarray(self.random.standard_normal(shape) * self.choice(0.1, 1, 30), np.float32)

    def like_one(self, array: np.ndarray) -> np.ndarray:
        """A number as a scalar, or as a vector of one."""
        return array.reshape(self.choice((), (1,)))


def _windows(source: Source, rank: int) -> tuple[list[int], list[int], dict[str, Any]]:
    """The extents of an image and of a kernel, and the attributes of the window."""
    kernel = [source.number(1, 3) for _ in range(rank)]
    dilations = [source.number(1, 2) for _ in range(rank)]
    extents = [
        source.number(d * (k - 1) + 1, 12 if rank < 3 else 6) for k, d in zip(kernel, dilations, strict=True)
    ]
    attrs: dict[str, Any] = {"strides": [source.number(1, 2) for _ in range(rank)], "dilations": dilations}
    attrs["kernel_shape"] = kernel
    if source.choice(True, False):
        attrs["pads"] = [source.number(0, k - 1) for _ in range(2) for k in kernel]
    return extents, kernel, attrs


def _channels(source: Source) -> tuple[int, int, int]:
    """Channels in, out, and groups: one, some, or as many as there are channels."""
    kind = source.choice("one", "one", "some", "depthwise")
    if kind == "one":
        return source.number(1, 20), source.number(1, 40), 1
    if kind == "some":
        groups = source.number(2, 4)
        return groups * source.number(1, 5), groups * source.number(1, 9), groups
    channels = source.number(1, 40)
    return channels, channels * source.choice(1, 1, 2), channels


def _convolution(source: Source) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    rank = source.choice(1, 2, 2, 3)
    extents, kernel, attrs = _windows(source, rank)
    before, after, groups = _channels(source)
    data_dtype, weight_dtype = source.choice(("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
    data = source.whole(data_dtype, source.number(1, 2), before, *extents)
    weight = source.whole(weight_dtype, after, before // groups, *kernel)
    return data, weight, attrs | {"group": groups}


def conv_integer(source: Source) -> Case:
    data, weight, attrs = _convolution(source)
    if data.dtype == np.int8:
        data = data.view(np.uint8)
    zeros = [
        source.like_one(source.whole(str(x.dtype))) if source.choice(True, False) else None
        for x in (data, weight)
    ]
    return Case("ConvInteger", [data, weight, *zeros], source.choice((1, 2, 3), (1,), (1, 3)), attrs)


def qlinear_conv(source: Source) -> Case:
    data, weight, attrs = _convolution(source)
    after = weight.shape[0]
    by_channel = source.choice(True, False)
    kind = str(data.dtype)
    scale = source.scales(after) if by_channel else source.like_one(source.scales())
    zero = source.whole(str(weight.dtype))
    zero = np.full(after, zero) if by_channel and source.choice(True, False) else source.like_one(zero)
    terms = float(np.prod(weight.shape[1:]))
    out = source.scales(low=0.1, high=1) * np.float32(terms**0.5 * scale.mean() * 60)
    inputs = [
        data,
        source.like_one(source.scales()),
        source.like_one(source.whole(kind)),
        weight,
        scale,
        zero,
    ]
    inputs += [source.like_one(out.astype(np.float32)), source.like_one(source.whole(kind))]
    if source.choice(True, False):
        inputs.append(source.random.integers(-5000, 5000, after).astype(np.int32))
    return Case("QLinearConv", inputs, range(1, 9), attrs)


def _matrices(source: Source, *more: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices, with signedness that onnxruntime supports everywhere, or one of ``more``."""
    rows, k, columns = source.number(1, 20), source.number(1, 70), source.number(1, 70)
    left, right = source.choice(("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"), *more)
    batch = source.choice((), (), (2,), (2, 3))
    return source.whole(left, *batch, rows, k), source.whole(right, k, columns)


def matmul_integer(source: Source) -> Case:
    a, b = _matrices(source, ("int8", "uint8"))
    zeros: list[Any] = [source.like_one(source.whole(str(x.dtype))) for x in (a, b)]
    if source.choice(True, False):
        zeros[1] = source.whole(str(b.dtype), b.shape[1])
    zeros = zeros if source.choice(True, True, False) else [zeros[0]]
    return Case("MatMulInteger", [a, b, *zeros], source.choice((1, 2, 3), (1, 3), (3,), ()))


def qlinear_matmul(source: Source) -> Case:
    a, b = _matrices(source)
    kind, by_column = str(a.dtype), source.choice(True, False)
    own = source.scales(b.shape[1]) if by_column else source.like_one(source.scales())
    zero = (
        source.whole(str(b.dtype), b.shape[1]) if by_column else source.like_one(source.whole(str(b.dtype)))
    )
    out = source.scales(low=0.1, high=1) * np.float32(a.shape[-1] ** 0.5 * own.mean() * 60)
    inputs = [a, source.like_one(source.scales()), source.like_one(source.whole(kind)), b, own, zero]
    inputs += [source.like_one(out.astype(np.float32)), source.like_one(source.whole(kind))]
    return Case("QLinearMatMul", inputs, source.choice(range(1, 8), (1, 2, 4, 5, 6, 7)))


def dynamic_quantize_linear(source: Source) -> Case:
    shape = [source.number(1, 40) for _ in range(source.number(1, 3))]
    return Case(
        "DynamicQuantizeLinear",
        [source.floats(*shape) + source.choice(0, 3, -3) * np.float32(1)],
        (),
        outputs=3,
    )


def _triple(source: Source, kind: str, *shape: int) -> list[np.ndarray]:
    """Codes, their scale and zero point."""
    return [source.whole(kind, *shape), source.scales(), source.whole(kind)]


def _of(
    source: Source, op_type: str, parts: list[Any], attrs: dict[str, Any], data: Sequence[int] = (0,)
) -> Case:
    """A node of com.microsoft whose scales and zero points are constant."""
    return Case(op_type, parts, [k for k in range(len(parts)) if k not in data], attrs, domain=MICROSOFT)


def qlinear_binary(op_type: str) -> Callable[[Source], Case]:
    def case(source: Source) -> Case:
        kind, shape = (
            source.choice("uint8", "int8"),
            [source.number(1, 30) for _ in range(source.number(1, 3))],
        )
        other = source.choice(shape, shape, shape[-1:], [1])
        parts = [*_triple(source, kind, *shape), *_triple(source, kind, *other)]
        parts = parts if source.choice(True, False) else [*parts[3:], *parts[:3]]
        high = 0.1 if op_type == "QLinearAdd" else 0.5
        return _of(source, op_type, [*parts, source.scales(high=high), source.whole(kind)], {}, (0, 3))

    return case


def qlinear_concat(source: Source) -> Case:
    kind, shape = source.choice("uint8", "int8"), [source.number(1, 9) for _ in range(3)]
    axis = source.number(0, 2)
    parts: list[np.ndarray] = [source.scales(), source.whole(kind)]
    count = source.number(1, 4)
    for _ in range(count):
        shape[axis] = source.number(1, 9)
        same = source.choice(True, False, False)
        parts += [source.whole(kind, *shape), *(parts[:2] if same else (source.scales(), source.whole(kind)))]
    return _of(source, "QLinearConcat", parts, {"axis": axis}, range(2, len(parts), 3))


def qlinear_where(source: Source) -> Case:
    kind, shape = source.choice("uint8", "int8"), [source.number(1, 20) for _ in range(2)]
    condition = source.random.integers(0, 2, shape).astype(bool)
    parts = [condition, *_triple(source, kind, *shape), *_triple(source, kind, *shape)]
    return _of(source, "QLinearWhere", [*parts, source.scales(), source.whole(kind)], {}, (0, 1, 4))


def qlinear_pool(source: Source) -> Case:
    kind = source.choice("uint8", "int8")
    rank = source.choice(1, 2, 3)
    extents, _, attrs = _windows(source, rank)
    attrs = {name: attrs[name] for name in ("kernel_shape", "strides", "pads") if name in attrs}
    attrs["count_include_pad"] = source.choice(0, 1)
    data = _triple(source, kind, source.number(1, 2), source.number(1, 9), *extents)
    return _of(source, "QLinearAveragePool", [*data, source.scales(), source.whole(kind)], attrs)


def qlinear_global_pool(source: Source) -> Case:
    kind = source.choice("uint8", "int8")
    extents = [source.number(1, 20) for _ in range(source.choice(1, 2, 2, 3))]
    channels_last = source.choice(0, 0, 1)
    data = _triple(source, kind, source.number(1, 2), source.number(1, 20), *extents)
    attrs = {"channels_last": channels_last}
    return _of(source, "QLinearGlobalAveragePool", [*data, source.scales(), source.whole(kind)], attrs)


def qlinear_leaky_relu(source: Source) -> Case:
    kind = source.choice("uint8", "int8")
    data = _triple(source, kind, source.number(1, 20), source.number(1, 40))
    attrs = {"alpha": float(source.random.uniform(0.01, 0.5))}
    return _of(source, "QLinearLeakyRelu", [*data, source.scales(), source.whole(kind)], attrs)


def qlinear_sigmoid(source: Source) -> Case:
    kind = source.choice("uint8", "int8")
    data = _triple(source, kind, source.number(1, 20), source.number(1, 40))
    zero = np.asarray(0 if kind == "uint8" else -128, kind)
    return _of(source, "QLinearSigmoid", [*data, np.float32(1 / 256), zero], {})


def qlinear_softmax(source: Source) -> Case:
    kind = source.choice("uint8", "int8")
    data = _triple(source, kind, *(source.number(1, 20) for _ in range(3)))
    zero = np.asarray(0 if kind == "uint8" else -128, kind)
    attrs = {"opset": source.choice(11, 13), "axis": source.choice(1, 2, -1)}
    return _of(source, "QLinearSoftmax", [*data, np.float32(1 / 256), zero], attrs)


def qgemm(source: Source) -> Case:
    rows, k, columns = source.number(1, 20), source.number(1, 70), source.number(1, 70)
    left, right = source.choice(("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
    attrs = {"transA": source.choice(0, 1), "transB": source.choice(0, 1), "alpha": source.choice(1.0, 0.7)}
    a = source.whole(left, *((k, rows) if attrs["transA"] else (rows, k)))
    b = source.whole(right, *((columns, k) if attrs["transB"] else (k, columns)))
    by_column = source.choice(True, False)
    own = source.scales(columns) if by_column else source.scales()
    zero = source.whole(right, columns) if by_column else source.whole(right)
    bias = (
        source.random.integers(-5000, 5000, columns).astype(np.int32) if source.choice(True, False) else None
    )
    parts = [a, source.scales(), source.whole(left), b, own, zero, bias]
    if source.choice(True, False):
        parts += [np.float32(k**0.5 * own.mean() * 60 * source.random.uniform(0.1, 1)), source.whole(left)]
    return _of(source, "QGemm", parts, attrs)


def _scaled_product(
    source: Source,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    a, b = _matrices(source)
    by_column = source.choice(True, False)
    own = source.scales(b.shape[1]) if by_column else source.like_one(source.scales())
    zero = (
        source.whole(str(b.dtype), b.shape[1]) if by_column else source.like_one(source.whole(str(b.dtype)))
    )
    bias = source.floats(b.shape[1]) if source.choice(True, False) else None
    return a, b, own, zero if source.choice(True, True, False) else None, bias


def dynamic_quantize_matmul(source: Source) -> Case:
    a, b, own, zero, bias = _scaled_product(source)
    return _of(source, "DynamicQuantizeMatMul", [source.floats(*a.shape), b, own, zero, bias], {})


def matmul_integer_to_float(source: Source) -> Case:
    a, b, own, zero, bias = _scaled_product(source)
    point = source.whole(str(a.dtype)) if source.choice(True, False) else None
    return _of(source, "MatMulIntegerToFloat", [a, b, source.scales(), own, point, zero, bias], {})


CASES: dict[str, Callable[[Source], Case]] = {
    "ConvInteger": conv_integer,
    "QLinearConv": qlinear_conv,
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": qlinear_matmul,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "QLinearAdd": qlinear_binary("QLinearAdd"),
    "QLinearMul": qlinear_binary("QLinearMul"),
    "QLinearConcat": qlinear_concat,
    "QLinearWhere": qlinear_where,
    "QLinearAveragePool": qlinear_pool,
    "QLinearGlobalAveragePool": qlinear_global_pool,
    "QLinearLeakyRelu": qlinear_leaky_relu,
    "QLinearSigmoid": qlinear_sigmoid,
    "QLinearSoftmax": qlinear_softmax,
    "QGemm": qgemm,
    "DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "MatMulIntegerToFloat": matmul_integer_to_float,
}
