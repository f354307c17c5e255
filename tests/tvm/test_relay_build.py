"""``relay.build``, ``create_executor``, ``relay.vm`` and what they return."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tvmlite
import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.tvm import relay


def perceptron() -> tuple[tvm.IRModule, dict[str, np.ndarray]]:
    """A dense layer and its weights, by name."""
    x, w, b = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4)), relay.var("b", shape=(3,))
    body = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b))
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=3)}
    return tvm.IRModule.from_expr(relay.Function([x, w, b], body)), {
        k: v.astype("float32") for k, v in params.items()
    }


def expected(x: np.ndarray, params: dict[str, np.ndarray]) -> np.ndarray:
    return np.maximum(x @ params["w"].T + params["b"], 0)


X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


def test_a_model_is_built_set_run_and_read() -> None:
    mod, params = perceptron()
    lib = relay.build(mod, target="llvm", params=params)
    module = lib["default"](tvmlite.cpu(0))

    module["set_input"]("x", X)
    module["run"]()

    np.testing.assert_allclose(module["get_output"](0).numpy(), expected(X, params), rtol=1e-5)
    assert module["get_num_outputs"]() == module["get_num_inputs"]() == 1
    assert module["get_input_index"]("x") == 0
    assert module["get_input_index"]("w") == -1
    np.testing.assert_array_equal(module.get_input(0).numpy(), X)
    assert sorted(lib.get_params()) == ["b", "w"]
    module.set_input(**lib.get_params())
    with pytest.raises(InputError, match="the parameter 'w' is in the library"):
        module.set_input("w", params["w"] + 1)
    assert module.get_input_info() == ({"x": (2, 4)}, {"x": "float32"})


def test_parameters_that_are_not_given_are_inputs() -> None:
    mod, params = perceptron()
    module = relay.build(mod, "llvm")["default"](tvmlite.cpu(0))

    with pytest.raises(InputError, match="run: inputs w, b have not been set"):
        module.run(x=X)
    module.set_input(**params)
    module.run()

    np.testing.assert_allclose(module.get_output(0).numpy(), expected(X, params), rtol=1e-5)
    with pytest.raises(InputError, match="there is no input 'bias'; there are x, w, b"):
        module.set_input("bias", X)
    with pytest.raises(InputError, match="there is no output 1; there are 1"):
        module.get_output(1)


def test_remove_params_leaves_weights_out_of_a_library(tmp_path: Path) -> None:
    mod, params = perceptron()
    lib = relay.build(mod, "llvm", params=params)
    lib["remove_params"]().export_library(tmp_path / "lib.so")
    module = tvm.runtime.load_module(tmp_path / "lib.so")["default"](tvmlite.cpu(0))

    with pytest.raises(InputError, match="run: inputs w, b have not been set"):
        module["run"](x=X)
    module["load_params"](tvm.runtime.save_param_dict(lib.get_params()))
    module["run"](x=X)
    np.testing.assert_allclose(module["get_output"](0).numpy(), expected(X, params), rtol=1e-5)


def test_a_virtual_machine_is_timed() -> None:
    mod, params = perceptron()
    machine = relay.vm.VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tvmlite.cpu(0))

    times = machine.benchmark(tvmlite.cpu(0), X, repeat=3, number=1)

    assert len(times.results) == 3
    assert times.mean > 0


def test_the_graph_is_json_that_lists_calls_in_order() -> None:
    mod, params = perceptron()
    graph, lib, others = relay.build(mod, "llvm", params=params)
    table = json.loads(graph)

    operators = [row["name"] for row in table["nodes"] if row["op"] == "tvm_op"]
    assert len(operators) == 1
    assert "dense" in operators[0]
    assert next(table["nodes"][place]["name"] for place in table["arg_nodes"]) == "x"
    assert table["node_row_ptr"][-1] == len(table["attrs"]["dltype"][1])
    assert sorted(others) == ["b", "w"]
    assert lib.lib(X).shape == (2, 3)


def test_a_built_model_shows_its_code_and_is_exported_as_a_module(tmp_path: Path) -> None:
    x = relay.var("x", shape=(3,))
    _, lib, _ = factory = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm")

    assert "define i32 @fused_add" in lib.get_source()
    assert ".text" in factory.lib.get_source("asm")
    assert (lib.type_key, factory.get_lib().type_key, lib.imported_modules) == ("llvm", "llvm", [])
    assert lib.get_function("default")(tvm.cpu())["get_num_outputs"]() == 1
    factory.get_lib().export_library(tmp_path / "twice.so", fcompile=False)
    loaded = tvm.runtime.load_module(str(tmp_path / "twice.so"))["default"](tvm.cpu())
    loaded.run(x=np.ones(3, "float32"))
    assert loaded.get_output(0).numpy().tolist() == [2, 2, 2]
    with pytest.raises(UnsupportedError, match="import_module: a compiled model takes no further"):
        lib.import_module(lib)
    with pytest.raises(UnsupportedError, match=r"(?s)no function 'fused_add'; it has 'default'.*lib\.report"):
        lib.get_function("fused_add")


def test_older_names_of_contexts_are_accepted() -> None:
    x = relay.var("x", shape=(3,))
    graph, lib, _ = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm")

    module = tvm.contrib.graph_runtime.create(graph, lib, ctx=tvm.context("cpu", 0))
    module.run(x=np.ones(3, "float32"))

    np.testing.assert_array_equal(module.get_output(0).asnumpy(), [2, 2, 2])
    assert module.module.time_evaluator("run", ctx=tvm.cpu(0), number=1)().mean > 0
    assert (tvm.cpu(0).warp_size, tvm.gpu(0).max_threads_per_block) == (None, None)


def test_a_built_model_is_exported(tmp_path: Path) -> None:
    mod, params = perceptron()
    relay.build(mod, "llvm", params=params).export_library(str(tmp_path / "net.so"))

    found = tvmlite.runtime.load(tmp_path / "net.so")(X)

    np.testing.assert_allclose(found, expected(X, params), rtol=1e-5)


def test_nested_results_keep_their_structure() -> None:
    x = relay.var("x", shape=(2,))
    body = relay.Tuple([x + x, relay.Tuple([x, relay.Tuple([x - x])])])
    mod = tvm.IRModule.from_expr(relay.Function([x], body))
    given = np.array([1, 2], np.float32)

    for kind in ("debug", "graph", "vm"):
        first, (second, (third,)) = relay.create_executor(kind, mod=mod).evaluate()(given)
        assert (first.numpy() + second.numpy() + third.numpy()).tolist() == [3, 6]
    module = relay.build(mod, "llvm")["default"](tvmlite.cpu(0))
    module.run(x=given)
    assert module.get_num_outputs() == 3
    assert module.get_output(2).numpy().tolist() == [0, 0]


def test_extents_may_be_known_only_at_run_time() -> None:
    x = relay.var("x", shape=(relay.Any(), 3))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.sum(relay.nn.relu(x), axis=1)))
    machine = relay.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tvmlite.cpu(0))

    for rows in (1, 5):
        assert machine.run(np.ones((rows, 3), np.float32)).numpy().tolist() == [3] * rows
    y = relay.var("y", shape=(4,))
    found = relay.create_executor("vm").evaluate(relay.Function([y], relay.argwhere(y)))
    assert found(np.array([0, 1, 0, 2], np.float32)).numpy().tolist() == [[1], [3]]


def test_an_executor_evaluates_expressions_with_named_arguments() -> None:
    x = relay.var("x", shape=())
    executor = relay.create_executor("graph")

    assert executor.evaluate(relay.const(2.0) * relay.const(3.0)).numpy() == 6
    assert executor.evaluate(relay.Function([x], x * x))(x=3.0).numpy() == 9
    assert executor.evaluate(x + x, binds={x: 4.0}).numpy() == 8
    with pytest.raises(InputError, match="evaluate: arguments 0, 1 given, expected x"):
        executor.evaluate(relay.Function([x], x))(1.0, 2.0)
    with pytest.raises(RuntimeError, match="kind is 'cuda', expected 'debug'"):
        relay.create_executor("cuda")


def test_the_graph_executor_casts_inputs_to_the_parameters_dtype() -> None:
    x = relay.var("x", shape=(3,), dtype="uint8")
    function = relay.Function([x], relay.bitwise_not(x))
    given = np.array([1, 2, 255])

    assert relay.create_executor("graph").evaluate(function)(given).numpy().tolist() == [254, 253, 0]
    module = relay.build(tvm.IRModule.from_expr(function), "llvm")["default"](None)
    module.run(x=given)
    assert module.get_output(0).numpy().tolist() == [254, 253, 0]
    with pytest.raises(InputError, match="dtype is int64, expected uint8"):
        relay.create_executor("debug").evaluate(function)(given)


def test_parameters_with_equal_names_get_distinct_names() -> None:
    x, y = relay.var("x", shape=()), relay.var("x", shape=())
    module = relay.build(tvm.IRModule.from_expr(relay.Function([x, y], x - y)), "llvm")["default"](None)

    module.run(x=5.0, x1=2.0)

    assert module.get_output(0).numpy() == 3


def test_a_disabled_pass_without_effect_is_a_warning() -> None:
    mod, params = perceptron()

    with tvm.transform.PassContext(opt_level=3, disabled_pass=["AlterOpLayout"]):
        lib = relay.build(mod, "llvm", params=params)
    with (
        tvm.transform.PassContext(opt_level=1, disabled_pass=["MergeComposite"]),
        pytest.warns(UserWarning, match="ignored: .*MergeComposite"),
    ):
        relay.build(mod, "llvm", params=params)

    np.testing.assert_allclose(lib.lib(X), expected(X, params), rtol=1e-5)
    with pytest.raises(UnsupportedError, match="Runtime: 'crt' is not supported"):
        relay.backend.Runtime("crt")
    with pytest.raises(InputError, match="the module has no function @main"):
        relay.build(tvm.IRModule(), "llvm")


def test_a_disabled_pass_does_not_run() -> None:
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.tanh(x))))
    fused = relay.build(mod, "llvm")

    with (
        tvm.transform.PassContext(opt_level=3, disabled_pass=["FuseOps"]),
        pytest.warns(UserWarning, match="opt_level is 0 in place of 3, the highest without FuseOps"),
    ):
        apart = relay.build(mod, "llvm")

    given = np.linspace(-1, 1, 4, dtype=np.float32)
    assert [len(one.lib.report.rows) for one in (fused, apart)] == [1, 2]
    np.testing.assert_allclose(apart.lib(given), np.exp(np.tanh(given)), rtol=1e-5)


def test_local_functions_and_lets_are_compiled() -> None:
    x, y, f = relay.var("x", shape=(2,)), relay.var("y", shape=(2,)), relay.var("f")
    inner = relay.Function([y], relay.Let(relay.var("t"), relay.exp(y), y + y))
    body = relay.Let(f, inner, f(f(x)))

    found = relay.create_executor("graph").evaluate(relay.Function([x], body))(np.ones(2, np.float32))

    assert found.numpy().tolist() == [4, 4]


def test_float64_inputs_are_converted_as_in_tvm() -> None:
    mod, params = perceptron()
    module = relay.build(mod, "llvm", params=params)["default"](tvmlite.cpu(0))

    module.set_input("x", X.astype(np.float64))
    module.run()

    np.testing.assert_allclose(module.get_output(0).numpy(), expected(X, params), rtol=1e-5)


def test_an_executable_is_saved_and_loaded(tmp_path: Path) -> None:
    mod, params = perceptron()
    code, lib = relay.vm.compile(mod, "llvm", params=params).save()
    lib.export_library(str(tmp_path / "lib.so"))

    loaded = tvm.runtime.load_module(str(tmp_path / "lib.so"))
    machine = tvm.runtime.vm.VirtualMachine(
        tvm.runtime.vm.Executable.load_exec(bytearray(code), loaded), tvm.cpu()
    )

    np.testing.assert_allclose(machine.run(X).numpy(), expected(X, params), rtol=1e-5)
    with pytest.raises(InputError, match=r"bytecode is not of tvmlite's Executable\.save"):
        relay.vm.Executable.load_exec(b"NVM", loaded)
    with pytest.raises(InputError, match=r"lib is .*, expected the module that Executable\.save gave"):
        relay.vm.Executable.load_exec(code, None)


def test_inputs_of_a_virtual_machine_are_set_one_by_one() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x, y], x - y)), "llvm")
    machine = relay.vm.VirtualMachine(exe, tvm.cpu())

    machine.set_one_input("main", 0, np.full(2, 5, np.float32))
    with pytest.raises(InputError, match="invoke: inputs y have not been set"):
        machine.invoke("main")
    machine.set_one_input("main", y=np.full(2, 3, np.float32))
    machine.invoke_stateful("main")

    assert machine.get_outputs()[0].numpy().tolist() == [2, 2]
    assert [machine.get_input_index(name) for name in ("x", "y", "z")] == [0, 1, -1]
    with pytest.raises(InputError, match="there is no parameter 'z'; there are: x, y"):
        machine.set_one_input("main", "z", np.ones(2, np.float32))
    with pytest.raises(InputError, match="expected a name or place and a value"):
        machine.set_one_input("main", "x")


def test_bytecode_of_an_executable_is_an_error() -> None:
    x = relay.var("x", shape=(2,))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm")

    with pytest.raises(
        UnsupportedError, match=r"(?s)Executable\.bytecode is not in tvmlite.*no byte code runs"
    ):
        print(exe.bytecode)
    with pytest.raises(AttributeError, match="Executable has no attribute 'by_code'"):
        print(exe.by_code)


def _of_pair() -> tvm.IRModule:
    """``fn (p: (a, (b,)), c) { (exp(a) - b) * c }``"""
    vector = relay.TensorType((3,))
    pair, c = relay.var("p", relay.TupleType([vector, relay.TupleType([vector])])), relay.var("c", vector)
    inner = relay.TupleGetItem(relay.TupleGetItem(pair, 1), 0)
    return tvm.IRModule.from_expr(
        relay.Function([pair, c], (relay.exp(relay.TupleGetItem(pair, 0)) - inner) * c)
    )


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
def test_a_result_does_not_alias_an_argument(kind: str) -> None:
    x = relay.var("x", shape=(2, 3))
    data = np.zeros((2, 3), "float32")

    found = relay.create_executor(kind).evaluate(relay.Function([x], relay.expand_dims(x, 1)))(data)
    data += 1

    assert not found.numpy().any()


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
def test_a_parameter_may_be_a_tuple_of_tuples(kind: str) -> None:
    a, b, c = (np.linspace(start, start + 1, 3, dtype=np.float32) for start in range(3))
    run = relay.create_executor(kind, _of_pair()).evaluate()

    for found in (run((a, (b,)), c), run(c=c, p=(a, (b,)))):
        np.testing.assert_allclose(found.numpy(), (np.exp(a) - b) * c, rtol=1e-6)


def test_fields_of_a_tuple_parameter_are_separate_inputs() -> None:
    a, b, c = (np.linspace(start, start + 1, 3, dtype=np.float32) for start in range(3))
    machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(_of_pair(), "llvm"), tvm.cpu())

    assert machine.get_input_index("p.1.0") == 1
    for given in ({"p": (a, (b,)), "c": c}, {"p.0": a, "p.1.0": b, "c": c}):
        np.testing.assert_allclose(machine.run(**given).numpy(), (np.exp(a) - b) * c, rtol=1e-6)


def test_functions_returned_by_a_function_can_be_called() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    both = relay.Tuple([relay.Function([x], relay.exp(x)), relay.Function([x], x + y)])
    exponential, increased = relay.create_executor().evaluate(relay.Function([y], both))(
        np.ones(2, "float32")
    )

    given = np.array([0, 2], "float32")
    np.testing.assert_allclose(exponential(given).numpy(), np.exp(given), rtol=1e-6)
    np.testing.assert_array_equal(increased(given).numpy(), given + 1)
    with pytest.raises(InputError, match="1 arguments expected, 2 given"):
        increased(given, given)


@pytest.mark.parametrize("type_", [relay.TensorType((2, 3)), relay.TupleType([relay.TensorType((2, 3))])])
def test_a_result_may_be_a_view_of_a_renamed_parameter(type_: relay.Type) -> None:
    first, second = relay.var("x", type_), relay.var("x", type_)
    tensor = second if isinstance(type_, relay.TensorType) else relay.TupleGetItem(second, 0)
    lib = relay.vm.compile(
        tvm.IRModule.from_expr(relay.Function([first, second], relay.reshape(tensor, (6,)))), "llvm"
    )
    arrays = [np.arange(start, start + 6, dtype=np.float32).reshape(2, 3) for start in (0, 6)]
    given = arrays if tensor is second else [(one,) for one in arrays]

    found = tvm.runtime.vm.VirtualMachine(lib, tvm.cpu()).run(*given)
    np.testing.assert_array_equal(found.numpy(), arrays[1].ravel())


def test_a_virtual_machine_writes_its_outputs_into_given_arrays() -> None:
    x = relay.var("x", shape=(3,))
    compiler = relay.vm.VMCompiler()
    compiler.lower(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([x + x, relay.exp(x)]))), "llvm")
    compiler.codegen()
    machine = tvm.runtime.vm.VirtualMachine(compiler.get_exec(), tvm.cpu())
    data, first, second = np.arange(3, dtype=np.float32), tvm.nd.empty((3,)), tvm.nd.empty((3,))

    machine.invoke_with_outputs("main", {"x": data}, [first, second])

    np.testing.assert_array_equal(first.numpy(), data + data)
    np.testing.assert_allclose(second.numpy(), np.exp(data), rtol=1e-6)
    machine.set_outputs("main", first)
    with pytest.raises(InputError, match="1 outputs are set, there are 2"):
        machine.invoke("main", data)


def test_vm_compiler_errors_name_the_missing_step() -> None:
    compiler = relay.vm.VMCompiler()

    with pytest.raises(InputError, match="nothing was lowered"):
        compiler.codegen()
    with pytest.raises(InputError, match="nothing was compiled"):
        compiler.get_exec()


def test_clearing_the_te_compiler_has_no_effect() -> None:
    relay.backend.te_compiler.get().clear()

    with pytest.raises(UnsupportedError, match=r"TECompiler.lower is not in tvmlite"):
        relay.backend.te_compiler.get().lower(None, "llvm")


@pytest.mark.parametrize(
    "words", ["-keys=cpu -link-params=0", "-device=arm_cpu -model=unknown", "-host=llvm -jit=orcjit"]
)
def test_target_options_without_effect_on_code_are_accepted(words: str) -> None:
    mod, params = perceptron()

    made = relay.build(mod, target=f"llvm {words}", params=params)
    module = made["default"](tvmlite.cpu(0))
    module["set_input"]("x", X)
    module["run"]()
    np.testing.assert_allclose(module["get_output"](0).numpy(), expected(X, params), rtol=1e-5)
    plain = relay.create_executor("graph", mod, target=f"llvm {words}", params=params).evaluate()(X)
    np.testing.assert_allclose(np.asarray(plain), expected(X, params), rtol=1e-5)


def test_functions_for_another_compiler_are_compiled_with_a_warning() -> None:
    x, f = relay.var("x", shape=(2,)), relay.GlobalVar("f")
    function = relay.Function([x], x + x)
    mod = tvm.IRModule({f: function.with_attr("Compiler", "another"), "main": relay.Function([x], f(x))})

    with pytest.warns(UserWarning, match="for the compiler 'another' are compiled by tvmlite"):
        lib = relay.build(mod, "llvm")

    np.testing.assert_array_equal(lib.lib(np.ones(2, np.float32)), [2, 2])
