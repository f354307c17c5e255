"""Programs from courses on TVM, with only the import changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite import cpu
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import relay

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
helper = onnx.helper


WEIGHTS = ([3, 2], "int64", "sizes"), ([1, 2], "float32", "more")


def onnx_model() -> tuple[object, np.ndarray]:
    """A convolution, relu and mean over the image, and its kernel."""
    kernel = np.random.default_rng(3).normal(size=(4, 3, 3, 3)).astype("float32")
    nodes = [
        helper.make_node("Conv", ["image", "kernel"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["scores"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "net",
        [value("image", onnx.TensorProto.FLOAT, ["batch", 3, 8, 8])],
        [value("scores", onnx.TensorProto.FLOAT, ["batch", 4])],
        [onnx.numpy_helper.from_array(kernel, "kernel")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), kernel


def test_an_onnx_model_is_compiled_and_run() -> None:
    model, _ = onnx_model()
    image = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype("float32")

    mod, params = relay.frontend.from_onnx(model, shape={"image": image.shape})
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    module = lib["default"](cpu(0))
    module["set_input"]("image", image)
    module["run"]()

    wanted = reference.ReferenceEvaluator(model).run(None, {"image": image})[0]
    np.testing.assert_allclose(module["get_output"](0).numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_an_onnx_model_is_compiled_for_any_batch() -> None:
    model, _ = onnx_model()
    mod, params = relay.frontend.from_onnx(model)
    run = relay.create_executor("vm", mod=mod, device=cpu(0), target="llvm", params=params).evaluate()

    for batch in (1, 3):
        image = np.random.default_rng(batch).normal(size=(batch, 3, 8, 8)).astype("float32")
        wanted = reference.ReferenceEvaluator(model).run(None, {"image": image})[0]
        np.testing.assert_allclose(run(image).numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_unfrozen_weights_are_inputs() -> None:
    model, kernel = onnx_model()
    image = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype("float32")

    mod, params = relay.frontend.from_onnx(model, {"image": image.shape}, freeze_params=False)
    run = relay.create_executor("vm", mod=mod, device=cpu(0), target="llvm").evaluate()

    assert [one.name_hint for one in mod["main"].params] == ["image", "kernel"]
    np.testing.assert_array_equal(params["kernel"].numpy(), kernel)
    wanted = reference.ReferenceEvaluator(model).run(None, {"image": image})[0]
    np.testing.assert_allclose(run(image, **params).numpy(), wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(run(image, kernel=2 * kernel).numpy(), 2 * wanted, rtol=1e-4, atol=1e-6)


def test_shape_and_dtype_given_to_from_onnx_are_used() -> None:
    model, _ = onnx_model()
    batch = tvm.tir.IntImm("int64", 2)

    mod, _ = relay.frontend.from_onnx(model, {"image": (batch, 3, 8, 8)}, dtype={"image": "float32"})
    assert [int(n) for n in mod["main"].params[0].type_annotation.shape] == [2, 3, 8, 8]
    with pytest.raises(UnsupportedError, match="dtype of input 'image' is float16, the model has float32"):
        relay.frontend.from_onnx(model, dtype={"image": "float16"})


def test_the_given_opset_is_used(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", 1, [2, 3, 4])], [value("y", 1, [2, 3, 4])]
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"], axis=1)], "net", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")

    for given in (model, str(tmp_path / "model.onnx"), model.SerializeToString()):
        mod, _ = relay.frontend.from_onnx(given, opset=11)
        made = relay.create_executor("debug", mod=mod).evaluate()(x).numpy()
        np.testing.assert_allclose(made.sum((1, 2)), 1, rtol=1e-5)  # over all that follows, until 13


def test_a_weight_that_decides_a_shape_stays_a_constant() -> None:
    value = helper.make_tensor_value_info
    sizes, added = (onnx.numpy_helper.from_array(np.array(v, t), n) for v, t, n in WEIGHTS)
    nodes = [
        helper.make_node("Reshape", ["x", "sizes"], ["r"]),
        helper.make_node("Add", ["r", "more"], ["y"]),
    ]
    inputs, outputs = [value("x", 1, [2, 3])], [value("y", 1, [3, 2])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, [sizes, added])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    mod, params = relay.frontend.from_onnx(model, freeze_params=False)

    assert list(params) == ["more"]
    run = relay.create_executor("graph", mod=mod, device=cpu(0), target="llvm").evaluate()
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(run(x, **params).numpy(), x.reshape(3, 2) + [1, 2])


def test_a_handwritten_network_is_bound_to_its_weights() -> None:
    rng = np.random.default_rng(0)
    data = relay.var("data", relay.TensorType((1, 3, 10, 10), "float32"))
    weight = relay.var("weight")
    conv = relay.nn.conv2d(data, weight, kernel_size=(3, 3), channels=8, padding=(1, 1))
    pooled = relay.nn.max_pool2d(relay.nn.relu(conv), pool_size=(2, 2), strides=(2, 2))
    function = relay.Function(relay.analysis.free_vars(pooled), pooled)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    params = {"weight": tvm.nd.array(rng.normal(size=(8, 3, 3, 3)).astype("float32"))}
    image = rng.normal(size=(1, 3, 10, 10)).astype("float32")

    compiled = relay.create_executor("graph", mod=mod, params=params).evaluate()(image)
    bound = relay.build_module.bind_params_by_name(mod["main"], params)
    interpreted = relay.create_executor("debug").evaluate(bound)(image)

    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3)
    )
    plain = np.maximum(np.einsum("nchwij,ocij->nohw", windows, params["weight"].numpy()), 0)
    wanted = plain.reshape(1, 8, 5, 2, 5, 2).max((3, 5))
    assert mod["main"].ret_type == relay.TensorType((1, 8, 5, 5))
    for found in (compiled, interpreted):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_residual_network_is_built_and_run() -> None:
    mod, params = relay.testing.resnet.get_workload(num_layers=18, batch_size=1, image_shape=(3, 64, 64))
    image = np.random.default_rng(0).uniform(-1, 1, (1, 3, 64, 64)).astype("float32")

    with tvm.transform.PassContext(opt_level=3):
        module = relay.build(mod, "llvm", params=params)["default"](cpu(0))
    module.set_input("data", image)
    module.run()

    found = module.get_output(0).numpy()
    wanted = relay.create_executor("debug", mod=mod, params=params).evaluate()(image).numpy()
    assert found.shape == (1, 1000)
    np.testing.assert_allclose(found.sum(), 1, rtol=1e-5)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-6)


def test_a_user_defined_pass_replaces_an_operator() -> None:
    @relay.transform.function_pass(opt_level=1)
    class HardSwish:
        """Writes ``x * sigmoid(x)`` in a cheaper way."""

        def transform_function(self, func: relay.Function, mod: tvm.IRModule, ctx: object) -> relay.Function:
            class Rewrite(relay.ExprMutator):
                def visit_call(self, call: relay.Call) -> relay.Expr:
                    made = super().visit_call(call)
                    if made.op == relay.op.get("sigmoid"):
                        line = made.args[0] / relay.const(6.0) + relay.const(0.5)
                        return relay.clip(line, a_min=0.0, a_max=1.0)
                    return made

            return Rewrite().visit(func)

    x = relay.var("x", shape=(5,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x * relay.sigmoid(x)))
    mod = tvm.transform.Sequential([HardSwish(), relay.transform.InferType()])(mod)
    data = np.array([-4, -1, 0, 1, 4], np.float32)

    found = relay.create_executor("graph", mod=mod).evaluate()(data)

    np.testing.assert_allclose(found.numpy(), data * np.clip(data / 6 + 0.5, 0, 1), rtol=1e-6)
    assert "sigmoid" not in mod.astext()


def test_a_sequence_of_passes_changes_the_text() -> None:
    x = relay.var("x", relay.TensorType((1, 64, 6, 6), "float32"))
    weight = relay.const(np.ones((64, 64, 3, 3), np.float32))
    c = relay.const(np.ones((1, 64, 4, 4), np.float32))
    y = relay.add(relay.nn.conv2d(x, weight), relay.multiply(relay.add(c, c), relay.const(2, "float32")))
    z = relay.add(y, c)
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.add(relay.add(y, c), z)))

    sequence = tvm.transform.Sequential(
        [
            relay.transform.FoldConstant(),
            relay.transform.EliminateCommonSubexpr(),
            relay.transform.FuseOps(fuse_opt_level=2),
        ]
    )
    with tvm.transform.PassContext(opt_level=3):
        found = sequence(mod)
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        more = sequence(mod)

    assert str(found).count("add(") == 3 < str(more).count("add(")
    assert "multiply" not in str(found)
    assert "Primitive=1" in str(found)


def test_a_graph_survives_a_round_trip_through_text(tmp_path: Path) -> None:
    mod, params = relay.testing.mlp.get_workload(batch_size=1)
    (tmp_path / "net.relay").write_text(mod.astext())
    data = np.random.default_rng(0).normal(size=(1, 1, 28, 28)).astype("float32")

    again = tvm.parser.fromtext((tmp_path / "net.relay").read_text())

    tvm.ir.assert_structural_equal(again, mod)
    one, other = (
        relay.create_executor("graph", mod=m, params=params).evaluate()(data).numpy() for m in (mod, again)
    )
    np.testing.assert_array_equal(one, other)


def test_a_program_given_as_text_is_run() -> None:
    mod = tvm.parser.parse(
        """
        #[version = "0.0.5"]
        def @relu_or_negative(%x: Tensor[(3), float32], %positive: bool) -> Tensor[(3), float32] {
          if (%positive) {
            nn.relu(%x)
          } else {
            negative(%x)
          }
        }
        def @main(%x: Tensor[(3), float32], %flag: bool) {
          let %y = @relu_or_negative(%x, %flag);
          %y * 2f + 1f
        }
        """
    )
    run = relay.create_executor("vm", mod=mod, target="llvm").evaluate()
    data = np.array([-1, 0, 2], np.float32)

    assert run(data, np.bool_(True)).numpy().tolist() == [1, 1, 5]
    assert run(data, np.bool_(False)).numpy().tolist() == [3, 1, -3]


def test_batch_normalization_is_folded_into_a_convolution() -> None:
    rng = np.random.default_rng(0)
    data = relay.var("data", shape=(1, 3, 6, 6))
    conv = relay.nn.conv2d(data, relay.var("weight"), kernel_size=(3, 3), channels=4)
    names = ("gamma", "beta", "mean", "var")
    norm = relay.nn.batch_norm(conv, *(relay.var(f"bn_{name}") for name in names))[0]
    mod, params = relay.testing.create_workload(norm)
    for name in names:
        params[f"bn_{name}"] = tvm.nd.array(rng.uniform(0.5, 1.5, 4).astype("float32"))
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    image = rng.normal(size=(1, 3, 6, 6)).astype("float32")
    before = relay.create_executor("debug", mod=mod).evaluate()(image)

    with tvm.transform.PassContext(opt_level=3):
        mod = tvm.transform.Sequential(
            [
                relay.transform.SimplifyInference(),
                relay.transform.FoldConstant(),
                relay.transform.FoldScaleAxis(),
                relay.transform.FoldConstant(),
            ]
        )(mod)

    assert relay.analysis.list_op_freqs(mod) == {"nn.conv2d": 1, "add": 1}
    after = relay.create_executor("debug", mod=mod).evaluate()(image)
    np.testing.assert_allclose(after.numpy(), before.numpy(), rtol=1e-4, atol=1e-5)


def test_operators_and_multiply_adds_of_a_network_are_counted() -> None:
    mod, _ = relay.testing.mobilenet.get_workload(batch_size=1)

    class Shapes(relay.ExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.widths: list[int] = []

        def visit_call(self, call: relay.Call) -> None:
            super().visit_call(call)
            if call.op.name == "nn.conv2d" and call.attrs.groups == 1:
                self.widths.append(call.checked_type.concrete_shape[1])

    shapes = Shapes()
    shapes.visit(mod["main"])

    assert relay.analysis.list_op_freqs(mod)["nn.conv2d"] == 27
    assert shapes.widths[:4] == [32, 64, 128, 128]
    assert shapes.widths[-1] == 1024
    assert relay.analysis.get_total_mac_number(mod["main"]) == 568740352


def test_a_recurrent_network_has_inputs_and_weights_for_each_step() -> None:
    mod, params = relay.testing.lstm.get_workload(iterations=2, num_hidden=4)
    data = np.random.default_rng(0).normal(size=(2, 1, 4)).astype("float32")
    weights = {name: one.numpy() for name, one in params.items()}
    hidden = cell = np.zeros((1, 4), np.float32)
    for step in range(2):
        gates = data[step] @ weights[f"i2h_{step}_weight"].T + hidden @ weights[f"h2h_{step}_weight"].T
        gates = gates + weights[f"i2h_{step}_bias"] + weights[f"h2h_{step}_bias"]
        entry, forget, change, out = np.split(gates, 4, axis=1)
        entry, forget, out = (1 / (1 + np.exp(-one)) for one in (entry, forget, out))
        cell = forget * cell + entry * np.tanh(change)
        hidden = out * np.tanh(cell)

    found = relay.create_executor("graph", mod=mod, params=params).evaluate()(*data)

    np.testing.assert_allclose(found.numpy(), hidden, rtol=1e-4, atol=1e-6)
