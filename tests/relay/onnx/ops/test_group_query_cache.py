"""GroupQueryAttention whose past and present are one buffer: each step writes its rows into it."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper

import tvmlite
from tvmlite.core.node import postorder
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Call
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


@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("extent", ["most", MOST])
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
