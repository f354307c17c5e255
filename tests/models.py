"""The models that tests and benchmarks run: from installed packages, or built here from seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tvmlite.relay.onnx import light_models as zoo


def light_models() -> list[str]:
    """Names of the model-zoo graphs in the onnx package, without the ``light_`` before them."""
    return [name.removeprefix("light_") for name in zoo.light_names()]


def light_model(name: str, seed: int = 0, softmax: bool = False) -> onnx.ModelProto:
    """A model-zoo graph with seeded random weights; see ``tvmlite.relay.onnx.light_models.light_model``."""
    return zoo.light_model(f"light_{name}", seed, softmax)


def ocr_models() -> dict[str, Path]:
    """The text detector ("det"), recogniser ("rec") and classifier ("cls") of rapidocr-onnxruntime."""
    import rapidocr_onnxruntime

    folder = Path(rapidocr_onnxruntime.__file__).parent / "models"
    return {name: next(folder.glob(f"*_{name}_infer.onnx")) for name in ("det", "rec", "cls")}


def magika_model() -> Path:
    """The file-type model of magika."""
    import magika

    return next((Path(magika.__file__).parent / "models").glob("*/model.onnx"))


def text_image(height: int, width: int, text: str = "tvmlite 2025") -> np.ndarray:
    """Rendered text in the layout of the detector: ``(1, 3, height, width)``, normalised."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    size = max(height // 8, 12)
    font = ImageFont.load_default(size=size)
    for line in range(3):
        draw.text((width // 12, height // 8 + 2 * line * size), f"{text} {line}", fill="black", font=font)
    pixels = np.asarray(image, np.float32) / 255
    return np.ascontiguousarray(((pixels - 0.5) / 0.5).transpose(2, 0, 1)[None])


def inputs_for(
    model: onnx.ModelProto | Path, seed: int = 0, dims: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """Random inputs by name. ``dims`` gives dynamic dimensions by name, unnamed ones as ``input_dim0``, ...

    Images get rendered text when they are large enough, token ids their vocabulary, masks a padded end.
    """
    proto = onnx.load(model) if isinstance(model, Path) else model
    random = np.random.default_rng(seed)
    held = {i.name for i in proto.graph.initializer}
    made: dict[str, np.ndarray] = {}
    for one in proto.graph.input:
        if one.name in held:
            continue
        kind = one.type.tensor_type
        shape = tuple(_extent(d, f"{one.name}_dim{i}", dims or {}) for i, d in enumerate(kind.shape.dim))
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        made[one.name] = _input(one.name, shape, np.dtype(dtype), random)
    return made


def _extent(declared: Any, name: str, dims: Mapping[str, int]) -> int:
    if declared.HasField("dim_value") and declared.dim_value >= 0:
        return int(declared.dim_value)
    return dims.get(name, dims.get(declared.dim_param, 2))


def _input(name: str, shape: tuple[int, ...], dtype: np.dtype, random: np.random.Generator) -> np.ndarray:
    if name == "attention_mask":
        lengths = random.integers(max(shape[1] // 2, 1), shape[1] + 1, shape[0])
        return (np.arange(shape[1])[None] < lengths[:, None]).astype(dtype)
    if dtype.kind == "f" and len(shape) == 4 and shape[1] == 3 and min(shape[2:]) >= 48:
        image = text_image(*shape[2:])
        return np.concatenate([np.roll(image, 7 * i, -1) for i in range(shape[0])]).astype(dtype)
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    high = 2 if name == "token_type_ids" else 250
    return random.integers(0, high, shape).astype(dtype)


class _Encoder:
    """Builds the graph of a BERT encoder as exporters write it, including its shape arithmetic."""

    def __init__(self, hidden: int, heads: int, seed: int) -> None:
        self.hidden, self.heads = hidden, heads
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, name: str = "", **attrs: Any) -> str:
        output = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, list(inputs), [output], f"{kind}_{len(self.nodes)}", **attrs)
        )
        return output

    def const(self, value: Any, dtype: type = np.int64) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape: int, scale: float | None = None) -> str:
        factor = 1 / np.sqrt(shape[0]) if scale is None else scale
        return self.const(self.random.standard_normal(shape) * factor, np.float32)

    def linear(self, x: str, rows: int, columns: int) -> str:
        return self.op(
            "Add", self.weight(columns, scale=0.02), self.op("MatMul", x, self.weight(rows, columns))
        )

    def norm(self, x: str) -> str:
        scale = self.const(self.random.uniform(0.8, 1.2, self.hidden), np.float32)
        return self.op(
            "LayerNormalization", x, scale, self.weight(self.hidden, scale=0.1), axis=-1, epsilon=1e-12
        )

    def extent(self, x: str, axis: int) -> str:
        return self.op(
            "Unsqueeze", self.op("Gather", self.op("Shape", x), self.const(axis), axis=0), self.const([0])
        )

    def split_heads(self, x: str, perm: tuple[int, ...]) -> str:
        size = self.hidden // self.heads
        shape = self.op(
            "Concat",
            self.extent(x, 0),
            self.extent(x, 1),
            self.const([self.heads]),
            self.const([size]),
            axis=0,
        )
        return self.op("Transpose", self.op("Reshape", x, shape), perm=perm)

    def attention(self, x: str, mask: str) -> str:
        query = self.split_heads(self.linear(x, self.hidden, self.hidden), (0, 2, 1, 3))
        key = self.split_heads(self.linear(x, self.hidden, self.hidden), (0, 2, 3, 1))
        value = self.split_heads(self.linear(x, self.hidden, self.hidden), (0, 2, 1, 3))
        scale = self.const(np.sqrt(self.hidden // self.heads), np.float32)
        scores = self.op("Add", self.op("Div", self.op("MatMul", query, key), scale), mask)
        context = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        context = self.op("Transpose", context, perm=(0, 2, 1, 3))
        shape = self.op("Concat", self.extent(x, 0), self.extent(x, 1), self.const([self.hidden]), axis=0)
        return self.linear(self.op("Reshape", context, shape), self.hidden, self.hidden)

    def gelu(self, x: str) -> str:
        curve = self.op("Erf", self.op("Div", x, self.const(np.sqrt(2), np.float32)))
        curve = self.op("Add", curve, self.const(1, np.float32))
        return self.op("Mul", self.op("Mul", x, curve), self.const(0.5, np.float32))

    def layer(self, x: str, mask: str) -> str:
        x = self.norm(self.op("Add", self.attention(x, mask), x))
        inner = self.gelu(self.linear(x, self.hidden, 4 * self.hidden))
        return self.norm(self.op("Add", self.linear(inner, 4 * self.hidden, self.hidden), x))

    def embeddings(self, vocabulary: int, positions: int) -> str:
        words = self.op("Gather", self.weight(vocabulary, self.hidden, scale=0.5), "input_ids", axis=0)
        types = self.op("Gather", self.weight(2, self.hidden, scale=0.5), "token_type_ids", axis=0)
        length = self.extent("input_ids", 1)
        ids = self.op(
            "Slice",
            self.const(np.arange(positions)[None]),
            self.const([0]),
            length,
            self.const([1]),
            self.const([1]),
        )
        places = self.op("Gather", self.weight(positions, self.hidden, scale=0.5), ids, axis=0)
        return self.norm(self.op("Add", self.op("Add", words, types), places))

    def mask(self) -> str:
        """The attention mask, ``(batch, 1, sequence, sequence)``: 0 where allowed, else the lowest float."""
        wide = self.op("Unsqueeze", "attention_mask", self.const([1, 2]))
        batch, length = self.extent("input_ids", 0), self.extent("input_ids", 1)
        shape = self.op("Concat", batch, self.const([1]), length, length, axis=0)
        ones = self.op(
            "ConstantOfShape",
            self.op("Shape", shape),
            value=numpy_helper.from_array(np.ones(1, np.int64)),
        )
        unset = self.op("Equal", shape, self.op("Mul", ones, self.const(-1)))
        shape = self.op("Where", unset, ones, shape)
        keep = self.op("Cast", self.op("Expand", wide, shape), to=TensorProto.FLOAT)
        away = self.op("Sub", self.const(1, np.float32), keep)
        least = self.const(np.finfo(np.float32).min, np.float32)
        return self.op("Where", self.op("Cast", away, to=TensorProto.BOOL), least, away)


def minilm(
    layers: int = 6,
    hidden: int = 384,
    heads: int = 12,
    opset: int = 17,
    vocabulary: int = 1000,
    seed: int = 0,
) -> onnx.ModelProto:
    """A BERT encoder like MiniLM's, with dynamic batch and sequence and seeded random weights."""
    made = _Encoder(hidden, heads, seed)
    x, mask = made.embeddings(vocabulary, 512), made.mask()
    for _ in range(layers):
        x = made.layer(x, mask)
    made.op("Identity", x, name="last_hidden_state")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", hidden]
    )
    graph = helper.make_graph(made.nodes, "minilm", inputs, [output], made.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
