"""Large tensors stay in the serialized model; protobuf parses the rest, whose content is unchanged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import tvmlite
from tvmlite.core import mapped
from tvmlite.core.errors import ModelError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Constant, Module
from tvmlite.relay.onnx import from_onnx
from tvmlite.relay.onnx.reading import loader
from tvmlite.relay.onnx.reading.tensor_data import EMBEDDED, LARGE_BYTES, TensorData, without_large_tensors

SIDE = 128
"""The side of the smallest square float32 matrix that counts as large."""

assert SIDE * SIDE * 4 == LARGE_BYTES


def matrix(seed: int, side: int = SIDE) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((side, side), np.float32)


def model_of(nodes: list[onnx.NodeProto], *weights: TensorProto, **more: object) -> onnx.ModelProto:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, SIDE]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], list(weights))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, **more)  # type: ignore[arg-type]


def product() -> onnx.ModelProto:
    """Return a product with an initializer."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return model_of([node], numpy_helper.from_array(matrix(0), "w"))


def constant_node(seed: int, name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(matrix(seed)))


def branches() -> onnx.ModelProto:
    """Return large tensors in the subgraphs of a node: an initializer and a node's attribute."""
    result = helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, SIDE])
    weight = numpy_helper.from_array(matrix(1), "v")
    product = helper.make_node("MatMul", ["x", "v"], ["z"])
    then = helper.make_graph([product], "then", [], [result], [weight])
    otherwise = helper.make_graph([constant_node(2, "v"), product], "otherwise", [], [result])
    sums = helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0)
    flag = helper.make_node("Cast", ["s"], ["f"], to=TensorProto.BOOL)
    choice = helper.make_node("If", ["f"], ["y"], then_branch=then, else_branch=otherwise)
    return model_of([sums, flag, choice])


def in_function() -> onnx.ModelProto:
    """Return a large tensor in the body of a function."""
    opsets = [helper.make_opsetid("", 17)]
    nodes = [constant_node(3, "v"), helper.make_node("MatMul", ["a", "v"], ["b"])]
    function = helper.make_function("own", "Product", ["a"], ["b"], nodes, opsets)
    return model_of([helper.make_node("Product", ["x"], ["y"], domain="own")], functions=[function])


def constants_of(module: Module) -> list[Constant]:
    return [one for one in postorder(module.main.body) if isinstance(one, Constant) and one.size > 1]


MODELS = [product, branches, in_function]


@pytest.mark.parametrize("make", MODELS)
def test_file_and_bytes_give_the_same_results_as_the_model(make, tmp_path: Path) -> None:
    model = make()
    onnx.save(model, tmp_path / "m.onnx")
    x = np.random.default_rng(9).standard_normal((2, SIDE), np.float32)
    wanted = interpret(from_onnx(model), [x])
    for source in (tmp_path / "m.onnx", model.SerializeToString()):
        np.testing.assert_array_equal(interpret(from_onnx(source), [x]), wanted)


@pytest.mark.parametrize("make", MODELS)
def test_large_weights_are_views_of_the_file(make, tmp_path: Path) -> None:
    onnx.save(make(), tmp_path / "m.onnx")
    weights = constants_of(from_onnx(tmp_path / "m.onnx"))
    assert weights
    assert all(mapped._mapping_of(one.data) is not None for one in weights)


def test_large_weights_are_views_of_the_bytes() -> None:
    serialized = product().SerializeToString()
    (weight,) = constants_of(from_onnx(serialized))
    assert np.shares_memory(weight.data, np.frombuffer(serialized, np.uint8))


def test_large_tensors_are_not_parsed_by_protobuf() -> None:
    serialized = np.frombuffer(product().SerializeToString(), np.uint8)
    rest = onnx.ModelProto.FromString(without_large_tensors(serialized))
    (tensor,) = rest.graph.initializer
    entries = {one.key: one.value for one in tensor.external_data}
    assert rest.ByteSize() < 1000
    assert entries["location"] == EMBEDDED
    np.testing.assert_array_equal(loader.array_of(tensor, TensorData(serialized=serialized), "w"), matrix(0))


def small() -> onnx.ModelProto:
    node = helper.make_node("Gemm", ["x", "w"], ["y"])
    return model_of([node], numpy_helper.from_array(matrix(0)[:-1], "w"))


def outside() -> onnx.ModelProto:
    """Return a tensor with external data; other data in the same message is ignored."""
    model = product()
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL
    model.graph.initializer[0].external_data.add(key="location", value="w.bin")
    return model


@pytest.mark.parametrize("make", [small, outside])
def test_models_without_embedded_large_tensors_are_unchanged(make) -> None:
    serialized = make().SerializeToString()
    assert without_large_tensors(np.frombuffer(serialized, np.uint8)) == serialized


@given(at=st.integers(0, 4 * SIDE * SIDE), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_models_are_refused_exactly_when_protobuf_refuses_them(at: int, byte: int, cut: bool) -> None:
    """Protobuf refuses the reduced model if and only if it refuses the full one."""
    whole = bytearray(product().SerializeToString())
    begin = whole.index(matrix(0).tobytes())
    places = [*range(begin), *range(begin + 4 * SIDE * SIDE, len(whole))]
    at = places[at % len(places)]
    damaged = bytes(whole[:at] if cut else [*whole[:at], byte, *whole[at + 1 :]])
    rest = without_large_tensors(np.frombuffer(damaged, np.uint8))
    made, wanted = _parsed(rest), _parsed(damaged)
    assert (made is None) == (wanted is None)
    if made is not None and wanted is not None:
        names = [[node.op_type for node in one.graph.node] for one in (made, wanted)]
        assert names[0] == names[1]


def _parsed(serialized: bytes) -> onnx.ModelProto | None:
    try:
        return onnx.ModelProto.FromString(serialized)
    except DecodeError:
        return None


def wrapped(number: int, inside: bytes) -> bytes:
    """Return a length-delimited field."""
    size, encoded = len(inside), [number << 3 | 2]
    while size > 127:
        encoded.append(size & 127 | 128)
        size >>= 7
    return bytes([*encoded, size]) + inside


def test_too_deeply_nested_messages_are_refused() -> None:
    graph = wrapped(10, b"a" * LARGE_BYTES)  # the field doc_string
    for _ in range(500):
        attribute = wrapped(6, graph)
        node = wrapped(5, attribute)
        graph = wrapped(1, node)
    with pytest.raises(ModelError, match="not an ONNX model, or a truncated one"):
        from_onnx(wrapped(7, graph))


def test_a_weight_with_the_wrong_length_is_refused() -> None:
    model = product()
    model.graph.initializer[0].dims[0] = SIDE - 1
    with pytest.raises(ModelError, match=r"'w': shape \(127, 128\) of float32 needs 65024 bytes, the file"):
        from_onnx(model.SerializeToString())


@pytest.mark.parametrize("offset", [0, 2**40])
def test_a_model_cannot_refer_to_data_beyond_its_file(offset: int) -> None:
    """A model may itself use the location that is given to large tensors."""
    model = product()
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": EMBEDDED, "offset": str(offset), "length": str(LARGE_BYTES)}.items():
        weight.external_data.add(key=key, value=value)
    for source in (model, model.SerializeToString()):
        with pytest.raises(ModelError, match="'w': its data is in the file"):
            from_onnx(source)


def test_external_data_files_are_mapped_once(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(100))
    data = TensorData(tmp_path)
    one, other = (data.file(tmp_path / "w.bin") for _ in range(2))
    assert one is other
    assert one.size == 100


def test_a_model_whose_file_changed_is_neither_compiled_nor_run(tmp_path: Path) -> None:
    path, x = tmp_path / "m.onnx", np.ones((2, SIDE), np.float32)
    onnx.save(product(), path)
    module = from_onnx(path)
    lib = tvmlite.compile(module)
    path.write_bytes(b"another model")
    for use in (tvmlite.compile, lambda module: interpret(module, [x])):
        with pytest.raises(ModelError, match=r"m\.onnx' was written to after it was imported"):
            use(module)
    np.testing.assert_allclose(lib(x), x @ matrix(0), rtol=1e-4, atol=1e-4)
