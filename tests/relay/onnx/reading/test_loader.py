"""Damaged, foreign, unsafe and oversized models: each gives one clear error that names the cause."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlite.core import mapped
from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Constant
from tvmlite.relay.onnx import from_onnx


def model_of(nodes, inputs, outputs, weights=(), opset=17, **more):
    def values(rows):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in rows]

    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)


def relu_model(**more):
    return model_of([helper.make_node("Relu", ["x"], ["y"])], [("x", [2, 3])], [("y", [2, 3])], **more)


def add_model(weight):
    add = helper.make_node("Add", ["x", "w"], ["y"])
    return model_of([add], [("x", [2, 3])], [("y", [2, 3])], [weight])


def external(location, **entries):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def test_path_bytes_and_proto_import_the_same_model(tmp_path) -> None:
    model = relu_model()
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    x = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)

    for given in (model, model.SerializeToString(), path, str(path)):
        assert np.array_equal(interpret(from_onnx(given), [x]), np.maximum(x, 0))


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(ModelError, match=r"absent\.onnx' does not exist"):
        from_onnx(tmp_path / "absent.onnx")


def test_a_folder_is_not_a_model(tmp_path) -> None:
    with pytest.raises(ModelError, match="is a folder"):
        from_onnx(tmp_path)


@pytest.mark.parametrize("data", [b"", b"hello, this is a text", b"\x7fELF" + bytes(64), b"PK\x03\x04" * 9])
def test_a_foreign_file_is_refused(tmp_path, data) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)

    with pytest.raises(ModelError, match=r"m\.onnx"):
        from_onnx(path)


def test_every_truncation_is_refused() -> None:
    data = add_model(numpy_helper.from_array(np.ones((2, 3), np.float32), "w")).SerializeToString()

    for end in range(len(data)):
        with pytest.raises((ModelError, UnsupportedError)):
            from_onnx(data[:end])


def test_a_graph_without_outputs_is_refused() -> None:
    model = relu_model()
    del model.graph.output[:]

    with pytest.raises(ModelError, match="no outputs"):
        from_onnx(model)


@pytest.mark.parametrize("opset", [0, 999])
def test_error_names_an_opset_outside_the_supported_range(opset) -> None:
    with pytest.raises(UnsupportedError, match=rf"opset {opset}, supported are 1 to \d+"):
        from_onnx(relu_model(opset=opset))


def test_an_initializer_with_too_few_bytes_is_refused() -> None:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], raw_data=bytes(20))

    with pytest.raises(ModelError, match=r"'w': shape \(2, 3\) of float32 needs 24 bytes, the file holds 20"):
        from_onnx(add_model(weight))


def test_an_initializer_with_too_few_elements_is_refused() -> None:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], float_data=[1, 2, 3])

    with pytest.raises(ModelError, match=r"'w': its data does not fit shape \(2, 3\)"):
        from_onnx(add_model(weight))


@pytest.mark.parametrize(
    ("shape", "message"),
    [([-1, 3], "negative dimension"), ([2**40, 2**40], "at most"), ([2**62, 8], "at most")],
)
def test_impossible_dimensions_are_refused(shape, message) -> None:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=shape, raw_data=bytes(24))

    with pytest.raises(ModelError, match=f"'w'.*{message}"):
        from_onnx(add_model(weight))


def test_a_node_with_a_terabyte_result_is_refused() -> None:
    shape = numpy_helper.from_array(np.array([2**20, 2**20], np.int64), "s")
    node = helper.make_node("ConstantOfShape", ["s"], ["y"], "Huge_1")

    with pytest.raises(ModelError, match=r'(?s)needs \d+ bytes.*node "Huge_1"'):
        from_onnx(model_of([node], [], [("y", [2**20, 2**20])], [shape]))


def test_string_tensors_are_refused() -> None:
    weight = helper.make_tensor("w", TensorProto.STRING, [1], [b"a"])

    with pytest.raises(UnsupportedError, match="'w': element type STRING is not supported"):
        from_onnx(add_model(weight))


def test_external_data_next_to_the_model_is_read(tmp_path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    (tmp_path / "w.bin").write_bytes(bytes(16) + values.tobytes())
    onnx.save(add_model(external("w.bin", offset=16, length=24)), tmp_path / "m.onnx")

    made = interpret(from_onnx(tmp_path / "m.onnx"), [np.ones((2, 3), np.float32)])

    assert np.array_equal(made, values + 1)


@pytest.mark.parametrize("node", ["MatMul", "Gemm"])
def test_external_weights_are_views_of_the_mapped_file(tmp_path, node) -> None:
    """Transposed weights are views: nothing is copied until a library is built."""
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    (tmp_path / "w.bin").write_bytes(values.tobytes())
    made = helper.make_node(node, ["x", "w"], ["y"])
    model = model_of([made], [("x", [4, 2])], [("y", [4, 3])], [external("w.bin")])
    onnx.save(model, tmp_path / "m.onnx")

    module = from_onnx(tmp_path / "m.onnx")

    (constant,) = (one for one in postorder(module.main.body) if isinstance(one, Constant))
    assert mapped._mapping_of(constant.data) is not None
    assert np.array_equal(constant.data, values.T)


@pytest.mark.parametrize("location", ["/etc/hostname", "../w.bin", "a/../../w.bin", "..\\w.bin"])
def test_external_data_outside_the_folder_is_refused(tmp_path, location) -> None:
    onnx.save(add_model(external(location)), tmp_path / "m.onnx")

    with pytest.raises(ModelError, match=r"'w'.*leaves the model's folder"):
        from_onnx(tmp_path / "m.onnx")


def test_a_symlink_out_of_the_folder_is_refused(tmp_path) -> None:
    (tmp_path / "secret").write_bytes(bytes(24))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "w.bin").symlink_to(tmp_path / "secret")
    onnx.save(add_model(external("w.bin")), folder / "m.onnx")

    with pytest.raises(ModelError, match="leads out of the model's folder"):
        from_onnx(folder / "m.onnx")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"offset": 8}, "which has only 24"),
        ({"length": 20}, "needs 24 bytes, the external data has 20"),
        ({"offset": -4}, "offset is '-4'"),
        ({"offset": 2**70}, "which has only 24"),
    ],
)
def test_external_data_beyond_its_file_is_refused(tmp_path, entries, message) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(24))
    onnx.save(add_model(external("w.bin", **entries)), tmp_path / "m.onnx")

    with pytest.raises(ModelError, match=message):
        from_onnx(tmp_path / "m.onnx")


def test_a_missing_external_file_is_named(tmp_path) -> None:
    onnx.save(add_model(external("gone.bin")), tmp_path / "m.onnx")

    with pytest.raises(ModelError, match=r"gone\.bin' does not exist"):
        from_onnx(tmp_path / "m.onnx")


def test_external_data_needs_a_path() -> None:
    with pytest.raises(ModelError, match="give the model's path"):
        from_onnx(add_model(external("w.bin")).SerializeToString())
