"""GroupQueryAttention whose past and present are one buffer: each step writes its rows into it."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper

import tvmlite
from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.passes.quantize_cache import quantize_cache
from tvmlite.relay.passes.update_in_place import update_in_place

HEADS, GROUPS, SIZE, MOST = 4, 2, 8, 16
IN_PLACE = {"present_key": "past_key", "present_value": "past_value"}
rng = np.random.default_rng(0)


def model(past: int | str = "most", present: int | str = "most", batch: int | str = 2) -> ModelProto:
    node = helper.make_node(
        "GroupQueryAttention",
        ["q", "k", "v", "past_key", "past_value", "lengths", "total"],
        ["y", "present_key", "present_value"],
        domain="com.microsoft",
        num_heads=HEADS,
        kv_num_heads=GROUPS,
    )
    rows = {"q": HEADS, "k": GROUPS, "v": GROUPS}
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "g",
        [
            *(value(name, TensorProto.FLOAT, [batch, "rows", n * SIZE]) for name, n in rows.items()),
            *(value(name, TensorProto.FLOAT, [batch, GROUPS, past, SIZE]) for name in IN_PLACE.values()),
            value("lengths", TensorProto.INT32, [batch]),
            value("total", TensorProto.INT32, []),
        ],
        [
            value("y", TensorProto.FLOAT, [batch, "rows", HEADS * SIZE]),
            *(value(name, TensorProto.FLOAT, [batch, GROUPS, present, SIZE]) for name in IN_PLACE),
        ],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def steps(counts: tuple[int, ...]) -> list[list[np.ndarray]]:
    """Rows of queries, keys and values, then the lengths and the total, step by step."""
    made, seen = [], 0
    for count in counts:
        parts = [rng.standard_normal((2, count, n * SIZE)).astype("float32") for n in (HEADS, GROUPS, GROUPS)]
        seen += count
        made.append([*parts, np.full(2, seen - 1, np.int32), np.array(seen, np.int32)])
    return made


def by_onnxruntime(proto: ModelProto, given: list[list[np.ndarray]]) -> list[np.ndarray]:
    """Its outputs, past and present bound to one buffer, and the buffers in the end."""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    buffers = [
        onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((2, GROUPS, MOST, SIZE), "float32"))
        for _ in IN_PLACE
    ]
    results = []
    for rows in given:
        binding = session.io_binding()
        for name, array in zip(("q", "k", "v", "lengths", "total"), rows, strict=True):
            binding.bind_cpu_input(name, array)
        for (present, past), buffer in zip(IN_PLACE.items(), buffers, strict=True):
            binding.bind_ortvalue_input(past, buffer)
            binding.bind_ortvalue_output(present, buffer)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        results.append(binding.get_outputs()[2].numpy().copy())
    return [*results, *(buffer.numpy().copy() for buffer in buffers)]


@pytest.mark.parametrize(
    ("extent", "target"),
    [
        ("most", "native"),
        (MOST, "native"),
        pytest.param("most", "c", marks=[pytest.mark.slow, pytest.mark.exhaustive]),
        pytest.param(MOST, "c", marks=pytest.mark.slow),
    ],
)
def test_steps_write_into_one_buffer(extent: int | str, target: str) -> None:
    proto, given = model(extent, extent), steps((5, 1, 1, 1))
    lib = tvmlite.compile(update_in_place(from_onnx(proto), IN_PLACE), target)
    keys, values = (np.zeros((2, GROUPS, MOST, SIZE), "float32") for _ in IN_PLACE)
    results = []
    for q, k, v, lengths, total in given:
        made, present_keys, present_values = lib(q, k, v, keys, values, lengths, total)
        assert present_keys is keys
        assert present_values is values
        results.append(made)

    for one, other in zip([*results, keys, values], by_onnxruntime(proto, given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_without_update_in_place_the_buffer_is_copied() -> None:
    (rows,) = steps((3,))
    past = [rng.standard_normal((2, GROUPS, MOST, SIZE)).astype("float32") for _ in IN_PLACE]
    kept = [one.copy() for one in past]
    _, keys, _ = tvmlite.compile(from_onnx(model()))(*rows[:3], *past, *rows[3:])

    np.testing.assert_array_equal(past, kept)
    np.testing.assert_array_equal(keys[:, :, 3:], past[0][:, :, 3:])
    np.testing.assert_array_equal(keys[:, :, :3], rows[1].reshape(2, 3, GROUPS, SIZE).swapaxes(1, 2))


@pytest.mark.parametrize(("past", "present"), [("past", "total"), (3, 4), ("", "")])
def test_a_present_that_is_longer_follows_the_past(past: int | str, present: int | str) -> None:
    module = from_onnx(model(past or None, present or None))  # type: ignore[arg-type]

    joined = [one for one in postorder(module.main.body) if isinstance(one, Call) and one.op == "concatenate"]
    assert len(joined) == 2


def quantized_model(kind: str, scale: tuple[int, ...], past: int | str, present: int | str) -> ModelProto:
    """The model with past and present in int8."""
    proto = model(past, present)
    (node,), graph = proto.graph.node, proto.graph
    node.input.extend(["", "", "", "", "", "key_scale", "value_scale"])
    node.attribute.extend(
        [
            helper.make_attribute("k_quant_type", kind),
            helper.make_attribute("v_quant_type", kind),
            helper.make_attribute("kv_cache_bit_width", 8),
        ]
    )
    for one in (*graph.input, *graph.output):
        if one.name in {*IN_PLACE, *IN_PLACE.values()}:
            one.type.tensor_type.elem_type = TensorProto.INT8
    for name in ("key_scale", "value_scale"):
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, scale))
    return proto


SCALES = [("PER_TENSOR", (1,)), ("PER_CHANNEL", (1, GROUPS, 1, SIZE))]


def codes_and_scales(length: int, shape: tuple[int, ...]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    codes = [rng.integers(-128, 128, (2, GROUPS, length, SIZE)).astype(np.int8) for _ in IN_PLACE]
    return codes, [(rng.random(shape) * 0.02 + 0.01).astype(np.float32) for _ in IN_PLACE]


@pytest.mark.parametrize(("kind", "shape"), SCALES)
@pytest.mark.parametrize("seen", [0, 6])
def test_a_quantized_cache_is_as_in_onnxruntime(kind: str, shape: tuple[int, ...], seen: int) -> None:
    """With scales for which some new elements are beyond int8."""
    proto = quantized_model(kind, shape, "past", "total")
    (rows,) = steps((1 if seen else 4,))
    rows[1] *= 2
    rows[3], rows[4] = rows[3] + np.int32(seen), np.array(int(rows[4]) + seen, np.int32)
    codes, scales = codes_and_scales(seen, shape)
    names = ["q", "k", "v", *IN_PLACE.values(), "lengths", "total", "key_scale", "value_scale"]
    given = dict(zip(names, [*rows[:3], *codes, *rows[3:], *scales], strict=True))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = [np.asarray(one) for one in session.run(None, given)]

    made = interpret(from_onnx(proto), list(given.values()))

    assert np.abs(expected[1].astype(int)).max() >= 127
    np.testing.assert_array_equal(made[1], expected[1])
    np.testing.assert_array_equal(made[2], expected[2])
    np.testing.assert_allclose(made[0], expected[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "shape"), SCALES)
def test_a_quantized_buffer_is_updated_in_place(kind: str, shape: tuple[int, ...]) -> None:
    lib = tvmlite.compile(update_in_place(from_onnx(quantized_model(kind, shape, "most", "most")), IN_PLACE))
    (q, k, v, lengths, total), *_ = steps((1,))
    (keys, values), scales = codes_and_scales(MOST, shape)
    lengths[:] = 4
    kept = keys.copy()

    _, present_keys, present_values = lib(q, k, v, keys, values, lengths, total, *scales)

    assert present_keys is keys
    assert present_values is values
    scale = scales[0].reshape(1, -1, SIZE) if kind == "PER_CHANNEL" else scales[0]
    kept[:, :, 4] = np.clip(np.rint(k.reshape(2, GROUPS, SIZE) / scale), -128, 127)
    np.testing.assert_array_equal(keys, kept)


def test_caches_of_other_kinds_are_refused() -> None:
    def changed(**attributes: int | str) -> ModelProto:
        proto = quantized_model("PER_TENSOR", (1,), "past", "total")
        for one in proto.graph.node[0].attribute:
            if one.name in attributes:
                one.CopyFrom(helper.make_attribute(one.name, attributes[one.name]))
        return proto

    with pytest.raises(
        UnsupportedError, match="k_quant_type=PER_TENSOR of 4 bits: only int8 with PER_TENSOR or "
    ):
        from_onnx(changed(kv_cache_bit_width=4))
    with pytest.raises(UnsupportedError, match="v_quant_type=PER_ROW of 8 bits"):
        from_onnx(changed(v_quant_type="PER_ROW"))
    floats = changed()
    floats.graph.input[3].type.tensor_type.elem_type = TensorProto.UINT8
    with pytest.raises(UnsupportedError, match="a quantized cache of uint8: only int8 is supported"):
        from_onnx(floats)
    without = changed()
    without.graph.node[0].input[12] = ""
    with pytest.raises(ModelError, match="k_quant_type=PER_TENSOR without k_scale"):
        from_onnx(without)


@pytest.mark.slow
def test_a_decoder_step_with_a_cache_in_int8_is_near_that_of_floats() -> None:
    """With a graph for single tokens beside that for prompts, both of which write the same arrays."""
    proto, given = model(), steps((5, 1, 1, 1))
    lib = tvmlite.compile(quantize_cache(from_onnx(proto), IN_PLACE), shape={"rows": [1]})
    cache = [np.zeros((2, GROUPS, MOST, SIZE), "int8") for _ in IN_PLACE]
    cache += [np.zeros((2, GROUPS, MOST), "float32") for _ in IN_PLACE]
    *expected, keys, _ = by_onnxruntime(proto, given)

    for (q, k, v, lengths, total), want in zip(given, expected, strict=True):
        made, *present = lib(q, k, v, *cache[:2], lengths, total, *cache[2:])
        assert all(a is b for a, b in zip(present, cache, strict=True))
        assert 10 * np.log10((want**2).sum() / ((made - want) ** 2).sum()) > 30
    held = cache[0] * cache[2][..., None]
    assert (np.abs(held - keys) <= cache[2][..., None] * 0.5001).all()
