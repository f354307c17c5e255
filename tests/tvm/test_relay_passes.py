"""``tvm.transform`` and ``relay.transform``: contexts, sequences, instruments and the passes themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import ConfigError, TvmliteError, TypeInferError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.ir.instrument import PassTimingInstrument, pass_instrument
from tvmlite.tvm.relay import transform
from tvmlite.tvm.relay.testing import run_infer_type, run_opt_pass


def same(found: object, expected: object) -> None:
    tvm.ir.assert_structural_equal(found, run_infer_type(expected), map_free_vars=True)


def calls(function: Any, name: str) -> list[Any]:
    found: list[Any] = []
    relay.analysis.post_order_visit(function, found.append)
    return [one for one in found if isinstance(one, relay.Call) and one.op.name == name]


def test_constants_are_folded_and_shapes_are_constants() -> None:
    x = relay.var("x", shape=(2, 3))
    two = relay.const(np.full(3, 2, np.float32))
    y = relay.var("y")
    before = relay.Let(y, two + two, relay.Tuple([x * (two + two), relay.shape_of(x), y]))

    found = run_opt_pass(relay.Function([x], before), transform.FoldConstant())

    four = relay.const(np.full(3, 4, np.float32))
    same(found, relay.Function([x], relay.Tuple([x * four, relay.const(np.array([2, 3], "int32")), four])))


@pytest.mark.parametrize(
    ("norm", "axes"),
    [
        (lambda x, g, b: relay.nn.layer_norm(x, g, b, axis=1), 1),
        (lambda x, g, b: relay.nn.instance_norm(x, g, b, epsilon=0.1, center=False), (2, 3)),
        (lambda x, g, b: relay.nn.group_norm(x, g, b, 2, scale=False), None),
        (lambda x, g, b: relay.nn.l2_normalize(x, 0.01, axis=[1, 3]), None),
    ],
)
def test_normalizations_are_decomposed(norm: Any, axes: Any) -> None:
    shapes = {"x": (2, 4, 3, 5), "g": (4,), "b": (4,)}
    params = [relay.var(name, shape=shape) for name, shape in shapes.items()]
    function = relay.Function(params, norm(*params))
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape).astype("float32") for shape in shapes.values()]

    made = run_opt_pass(function, transform.SimplifyInference())

    names = relay.analysis.list_op_freqs(tvm.IRModule.from_expr(made))
    assert not [name for name in names if "norm" in name]
    found, expected = (relay.create_executor("debug").evaluate(one)(*args) for one in (made, function))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    if axes is not None:
        assert [list(n.attrs.axis) for n in calls(made, "variance")] == [list(np.atleast_1d(axes))]


def test_normalizations_in_float16_are_kept() -> None:
    x, g = relay.var("x", shape=(2, 4), dtype="float16"), relay.var("g", shape=(4,), dtype="float16")
    function = relay.Function([x, g], relay.nn.layer_norm(x, g, g))

    same(run_opt_pass(function, transform.SimplifyInference()), function)


def test_dropout_is_not_folded() -> None:
    dropped = relay.nn.dropout(relay.const(np.ones(3, np.float32)))

    same(run_opt_pass(dropped, transform.FoldConstant()), dropped)
    same(
        run_opt_pass(dropped, [transform.SimplifyInference(), transform.FoldConstant()]),
        relay.const(np.ones(3, np.float32)),
    )


def test_full_is_not_folded() -> None:
    full = relay.full(relay.const(1.0), (64, 64), "float32")

    same(run_opt_pass(full, transform.FoldConstant()), full)


def test_unread_lets_are_removed() -> None:
    a, b, x = relay.var("a"), relay.var("b"), relay.var("x", shape=(2,))
    used = relay.Let(a, relay.exp(x), a + a)
    once = relay.Let(a, relay.exp(x), relay.nn.relu(a))

    same(run_opt_pass(relay.Let(b, relay.tanh(x), used), transform.DeadCodeElimination()), used)
    same(run_opt_pass(once, transform.DeadCodeElimination()), once)
    same(run_opt_pass(once, transform.DeadCodeElimination(inline_once=True)), relay.nn.relu(relay.exp(x)))


def test_equal_calls_become_one_unless_they_are_skipped() -> None:
    x = relay.var("x", shape=(2,))
    before = relay.add(relay.exp(x) + relay.const(1.0), relay.exp(x) + relay.const(1.0))
    shared = relay.exp(x)

    one = run_opt_pass(before, transform.EliminateCommonSubexpr())
    assert one.args[0] is one.args[1]
    kept = run_opt_pass(before, transform.EliminateCommonSubexpr(lambda node: node.op.name == "add"))
    assert kept.args[0] is not kept.args[1]
    assert kept.args[0].args[0] is kept.args[1].args[0]
    same(one, relay.add(first := shared + relay.const(1.0), first))


def test_batch_normalization_becomes_a_scale_and_a_shift() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 4, 4)).astype("float32")
    gamma, beta, mean = rng.normal(size=(3, 3)).astype("float32")
    variance = rng.uniform(0.5, 1, 3).astype("float32")
    data = relay.var("x", shape=x.shape)
    parts = map(relay.const, (gamma, beta, mean, variance))
    function = relay.Function([data], relay.nn.dropout(relay.nn.batch_norm(data, *parts, epsilon=0.1)[0]))

    found = run_opt_pass(function, transform.SimplifyInference())

    names = relay.analysis.list_op_freqs(found)
    assert "nn.batch_norm" not in names
    assert "nn.dropout" not in names
    column = (3, 1, 1)
    wanted = (x - mean.reshape(column)) / np.sqrt(variance.reshape(column) + 0.1)
    wanted = wanted * gamma.reshape(column) + beta.reshape(column)
    np.testing.assert_allclose(
        relay.create_executor().evaluate(found)(x).numpy(), wanted, rtol=1e-4, atol=1e-5
    )


def test_a_normal_form_binds_every_value_to_a_let() -> None:
    a, b, c = relay.var("a"), relay.var("b"), relay.var("c")
    before = relay.const(1) + relay.const(2)

    found = run_opt_pass(before, [transform.ToANormalForm(), transform.InferType()])

    same(found, relay.Let(a, relay.const(1), relay.Let(b, relay.const(2), relay.Let(c, relay.add(a, b), c))))
    same(run_opt_pass(found, transform.ToGraphNormalForm()), before)


def test_lets_in_arguments_are_moved_before_their_readers() -> None:
    x, bound = relay.var("x", shape=(2,)), relay.var("bound")
    value = relay.Let(bound, relay.exp(x), bound + bound)
    function = relay.Function([x], value * value)

    found = run_opt_pass(function, [transform.ToANormalForm(), transform.InferType()])

    a, b, c, d = (relay.var(name) for name in "abcd")
    expected = relay.Let(a, relay.exp(x), relay.Let(b, a + a, relay.Let(c, b, relay.Let(d, c * c, d))))
    same(found, relay.Function([x], expected))
    blocks = run_opt_pass(function, transform.ToBasicBlockNormalForm())
    data = np.array([0.5, 1.0], np.float32)
    for made in (found, blocks):
        answer = relay.create_executor().evaluate(made)(data).numpy()
        np.testing.assert_allclose(answer, (2 * np.exp(data)) ** 2, rtol=1e-6)


def test_lets_of_branches_stay_in_their_blocks() -> None:
    x = relay.var("x", shape=())
    shared = relay.exp(x)
    choice = relay.If(relay.less(x, relay.const(0.0)), shared + shared, relay.negative(shared))

    for made in (transform.ToANormalForm(), transform.ToBasicBlockNormalForm()):
        found = run_opt_pass(relay.Function([x], choice), made)
        for value, wanted in ((-1.0, 2 * np.exp(-1)), (1.0, -np.exp(1))):
            np.testing.assert_allclose(
                relay.create_executor().evaluate(found)(value).numpy(), wanted, rtol=1e-6
            )
        assert relay.analysis.check_basic_block_normal_form(found)
        assert str(found).count("exp(") == 1
    with pytest.raises(TvmliteError, match="in another block than its own"):
        relay.analysis.check_basic_block_normal_form(relay.Function([x], choice))


def test_fused_groups_are_made_and_defused() -> None:
    x = relay.var("x", shape=(4, 4))
    function = relay.Function([x], relay.nn.relu(relay.nn.dense(x, relay.const(np.eye(4, dtype=np.float32)))))

    fused = run_opt_pass(function, transform.FuseOps())
    assert dict(fused.body.op.attrs)["Primitive"] == 1
    same(run_opt_pass(fused, transform.DefuseOps()), function)


def grouped(expr: relay.Expr, level: int = 2) -> list[list[str]]:
    """The operators of each group, in the order in which groups are called."""
    body = run_opt_pass(relay.Function(relay.analysis.free_vars(expr), expr), transform.FuseOps(level)).body
    found: list[list[str]] = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call) and isinstance(node.op, relay.Function):
            assert node.op.attrs.Primitive == 1
            found.append(list(relay.analysis.list_op_freqs(node.op.body)))

    relay.analysis.post_order_visit(body, visit)
    return found


def test_linked_constants_are_inside_the_groups_that_read_them() -> None:
    x, table = relay.var("x", shape=(4, 3)), relay.const(np.array([2, 0], "int32"))
    function = relay.Function([x], relay.take(relay.exp(x), table, axis=0))
    data = np.arange(12, dtype=np.float32).reshape(4, 3) / 12
    bodies = []
    for linked in (False, True):
        with tvm.transform.PassContext(config={"relay.FuseOps.link_params": linked}):
            mod = transform.FuseOps(2)(tvm.IRModule.from_expr(function))
        bodies.append(mod["main"].body)
        answer = relay.create_executor("graph", mod=mod).evaluate()(data).numpy()
        np.testing.assert_allclose(answer, np.exp(data)[[2, 0]], rtol=1e-6)

    assert [len(body.args) for body in bodies] == [2, 1]
    assert isinstance(bodies[1].op.body.args[1], relay.Constant)


def test_groups_follow_the_rules_of_tvm() -> None:
    image, weight = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w")
    conv = relay.nn.conv2d(image, weight, channels=4, kernel_size=(3, 3), padding=(1, 1))
    tail = relay.nn.relu(conv + relay.const(1.0))
    pooled = relay.nn.max_pool2d(tail, (2, 2), (2, 2))

    assert grouped(tail) == [["nn.conv2d", "add", "nn.relu"]]
    assert grouped(tail, 0) == [["nn.conv2d"], ["add"], ["nn.relu"]]
    assert grouped(pooled) == [["nn.conv2d", "add", "nn.relu"], ["nn.max_pool2d"]]
    assert grouped(relay.transpose(tail)) == [["nn.conv2d", "add", "nn.relu"], ["transpose"]]
    assert grouped(relay.sum(relay.exp(image), axis=1)) == [["exp", "sum"]]
    joined = relay.concatenate([relay.exp(image), relay.reshape(image, (1, 4, 8, 8))], axis=1)
    assert grouped(relay.nn.relu(joined)) == [["exp", "reshape", "concatenate", "nn.relu"]]
    assert grouped(relay.exp(relay.nn.softmax(image))) == [["nn.softmax", "exp"]]
    assert grouped(relay.transpose(relay.nn.softmax(image))) == [["nn.softmax"], ["transpose"]]
    assert grouped(relay.zeros_like(image) + relay.ones_like(image)) == [["zeros_like", "ones_like", "add"]]


def test_a_context_limits_the_size_of_groups() -> None:
    value = relay.var("x", shape=(4,))
    for _ in range(12):
        value = relay.exp(value)

    assert [len(calls) for calls in grouped(value)] == [1]
    with tvm.transform.PassContext(config={"relay.FuseOps.max_depth": 4}):
        mod = transform.FuseOps(2)(tvm.IRModule.from_expr(value))
    sizes: list[int] = []
    relay.analysis.post_order_visit(
        mod["main"].body,
        lambda node: sizes.append(str(node).count("exp(")) if isinstance(node, relay.Function) else None,
    )
    assert sum(sizes) == 12
    assert max(sizes) <= 4


def test_a_value_read_by_two_groups_is_computed_once() -> None:
    x = relay.var("x", shape=(4, 4))
    shared = relay.exp(x)
    left, right = (relay.nn.dense(shared, relay.var(name, shape=(4, 4))) for name in "ab")

    assert grouped(left + right) == [["exp"], ["nn.dense"], ["nn.dense", "add"]]
    mod = tvm.IRModule.from_expr(left + right)
    given = [np.random.default_rng(one).normal(size=(4, 4)).astype("float32") for one in range(3)]
    wanted = np.exp(given[0]) @ given[1].T + np.exp(given[0]) @ given[2].T
    for kind in ("debug", "graph"):
        found = relay.create_executor(kind, mod=transform.FuseOps()(mod)).evaluate()(*given)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4)


def test_quantized_operators_are_canonicalized() -> None:
    x = relay.var("x", shape=(4,), dtype="int8")
    scale, zero = relay.const(0.5), relay.const(0)
    call = relay.qnn.op.add(x, x, scale, zero, scale, zero, scale, relay.const(1))

    found = relay.qnn.transform.CanonicalizeOps()(tvm.IRModule.from_expr(call))

    assert not any(name.startswith("qnn.") for name in relay.analysis.list_op_freqs(found))
    given = np.array([-4, 0, 3, 5], np.int8)
    assert relay.create_executor(mod=found).evaluate()(given).numpy().tolist() == [-7, 1, 7, 11]


def test_a_user_defined_rule_legalizes_a_quantized_operator() -> None:
    x = relay.var("x", shape=(4,), dtype="int8")
    scale, zero = relay.const(0.5), relay.const(0)
    call = relay.qnn.op.requantize(x, scale, zero, scale, zero)

    def moved(attrs: Any, args: list[Any], types: list[Any]) -> Any:
        return relay.qnn.op.requantize(args[0] + relay.const(1, "int8"), *args[1:], **attrs)

    with relay.testing.temp_op_attr.TempOpAttr("qnn.requantize", "FTVMQnnLegalize", moved):
        found = run_opt_pass(call, relay.qnn.transform.Legalize())
        kept = run_opt_pass(call, transform.Legalize())

    same(found, relay.qnn.op.requantize(x + relay.const(1, "int8"), scale, zero, scale, zero))
    same(kept, call)
    same(run_opt_pass(call, relay.qnn.transform.Legalize()), call)


def test_a_user_defined_rule_legalizes_an_operator() -> None:
    def wider(attrs: object, args: list[Any], types: list[Any]) -> Any:
        if types[0].dtype != "int8":
            return None
        return relay.cast(relay.nn.relu(relay.cast(args[0], "int32")), types[-1].dtype)

    small, large = relay.var("s", shape=(3,), dtype="int8"), relay.var("l", shape=(3,))
    pair = relay.Tuple([relay.nn.relu(small), relay.nn.relu(large)])
    with relay.testing.temp_op_attr.TempOpAttr("nn.relu", "FTVMLegalize", wider):
        found = run_opt_pass(pair, transform.Legalize())

    wanted = relay.cast(relay.nn.relu(relay.cast(small, "int32")), "int8")
    same(found, relay.Tuple([wanted, relay.nn.relu(large)]))
    same(run_opt_pass(pair, transform.Legalize()), pair)


def test_alter_op_layout_keeps_the_type_of_a_convolution() -> None:
    conv = relay.nn.conv2d(relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3)))

    assert run_opt_pass(conv, transform.AlterOpLayout()).checked_type == relay.TensorType((1, 4, 6, 6))


def test_explicit_zero_padding_is_folded_into_a_convolution() -> None:
    image, weight = relay.var("x", shape=(1, 2, 5, 5)), relay.var("w", shape=(3, 2, 3, 3))

    def conv(widths: Any, value: float = 0.0) -> Any:
        return relay.nn.conv2d(relay.nn.pad(image, widths, value), weight, padding=(1, 0))

    found = run_opt_pass(conv(((0, 0), (0, 0), (1, 2), (3, 4))), transform.FoldExplicitPadding())

    same(found, relay.nn.conv2d(image, weight, padding=(2, 3, 3, 4)))
    for kept in (conv(((0, 1), (0, 0), (1, 1), (1, 1))), conv(((0, 0), (0, 0), (1, 1), (1, 1)), 2.0)):
        same(run_opt_pass(kept, transform.FoldExplicitPadding()), kept)


def test_inlined_functions_are_removed() -> None:
    helper, x = relay.GlobalVar("helper"), relay.var("x", shape=(2,))
    mod = tvm.IRModule({helper: relay.Function([x], x * x).with_attr("Inline", 1)})
    y = relay.var("y", shape=(2,))
    mod["main"] = relay.Function([y], helper(helper(y)))

    found = tvm.transform.Sequential([transform.Inline(), transform.RemoveUnusedFunctions()])(mod)

    assert [var.name_hint for var in found.functions] == ["main"]
    given = np.array([1, 3], np.float32)
    assert relay.create_executor(mod=found).evaluate()(given).numpy().tolist() == [1, 81]
    assert len(mod.functions) == 2


def test_passes_keep_calls_between_functions() -> None:
    helper, x = relay.GlobalVar("helper"), relay.var("x", shape=(2, 3))
    mod = tvm.IRModule(
        {helper: relay.Function([x], relay.nn.bias_add(x, relay.const(np.ones(3, np.float32))))}
    )
    mod["main"] = relay.Function([x], relay.nn.relu(helper(x)))

    found = transform.CanonicalizeOps()(mod)

    assert "@helper(%x)" in str(found)
    assert "nn.bias_add" not in str(found)


def test_a_pass_context_selects_the_passes_of_a_sequence() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x) + relay.exp(x)))
    sequence = tvm.transform.Sequential([transform.EliminateCommonSubexpr(), transform.FastMath()])

    def calls(**options: object) -> dict[str, int]:
        with tvm.transform.PassContext(**options):  # type: ignore[arg-type]
            return relay.analysis.list_op_freqs(sequence(mod))

    assert calls(opt_level=2) == {"exp": 2, "add": 1}
    assert calls(opt_level=3) == {"exp": 1, "add": 1}
    assert calls(opt_level=4) == {"fast_exp": 1, "add": 1}
    assert calls(opt_level=2, required_pass=["FastMath"]) == {"fast_exp": 2, "add": 1}
    assert calls(opt_level=4, disabled_pass=["FastMath"]) == {"exp": 1, "add": 1}
    assert tvm.transform.PassContext.current().opt_level == 2


def test_user_defined_passes_may_be_functions_or_classes() -> None:
    @tvm.transform.module_pass(opt_level=1, name="Twice")
    def twice(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        return tvm.IRModule.from_expr(relay.Function(mod["main"].params, mod["main"].body * relay.const(2.0)))

    @relay.transform.function_pass(opt_level=0)
    class Scaled:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def transform_function(
            self, function: relay.Function, mod: object, context: object
        ) -> relay.Function:
            return relay.Function(function.params, function.body * relay.const(self.factor))

    x = relay.var("x", shape=())
    found = tvm.transform.Sequential([twice, Scaled(5.0)])(tvm.IRModule.from_expr(relay.Function([x], x)))

    assert relay.create_executor(mod=found).evaluate()(3.0).numpy() == 30
    assert twice.info.name == "Twice"
    assert Scaled(1.0).info.name == "Scaled"
    assert isinstance(twice, tvm.transform.ModulePass)
    assert Scaled(2.0).factor == 2


def test_a_function_pass_leaves_functions_that_are_not_relay_unchanged() -> None:
    tir = tvm.tir
    other = tir.PrimFunc([tir.Var("n", "int32")], tir.Evaluate(0))
    x = relay.var("x", shape=())
    module = tvm.IRModule({"main": relay.Function([x], x), "other": other})

    @relay.transform.function_pass(opt_level=0)
    def double(function: relay.Function, mod: object, context: object) -> relay.Function:
        return relay.Function(function.params, function.body * relay.const(2.0))

    found = double(module)

    assert found["other"] is other
    assert relay.create_executor(mod=found).evaluate()(3.0).numpy() == 6


def test_instruments_are_called_for_every_pass() -> None:
    heard: list[str] = []

    @pass_instrument
    class Listening:
        def enter_pass_ctx(self) -> None:
            heard.append("enter")

        def exit_pass_ctx(self) -> None:
            heard.append("exit")

        def should_run(self, mod: object, info: tvm.transform.PassInfo) -> bool:
            return info.name != "FastMath"

        def run_before_pass(self, mod: object, info: tvm.transform.PassInfo) -> None:
            heard.append(info.name)

    timing = PassTimingInstrument()
    mod = tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,))))
    with tvm.transform.PassContext(instruments=[timing, Listening()]):
        found = transform.FastMath()(transform.InferType()(mod))
        times = timing.render()

    assert heard == ["enter", "InferType", "exit"]
    assert times.startswith("InferType: ")
    assert "fast_exp" not in str(found)


def test_an_exception_in_a_user_defined_pass_is_the_cause_of_an_error() -> None:
    @tvm.transform.module_pass(opt_level=1)
    def broken(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        raise NotImplementedError("not yet")

    with pytest.raises(TvmliteError, match="broken: NotImplementedError: not yet") as caught:
        broken(tvm.IRModule.from_expr(relay.const(1)))
    assert isinstance(caught.value.__cause__, NotImplementedError)


def test_an_instruments_error_is_raised_unchanged_and_ends_instruments() -> None:
    @pass_instrument
    class Refusing:
        def enter_pass_ctx(self) -> None:
            raise ValueError("not today")

    context = tvm.transform.PassContext(instruments=[Refusing()])
    with pytest.raises(ValueError, match="not today"), context:
        pass
    assert context.instruments is None


def test_instruments_entered_before_a_failing_one_exit() -> None:
    heard: list[str] = []

    @pass_instrument
    class Listening:
        def __init__(self, name: str, fails: bool = False) -> None:
            self.name, self.fails = name, fails

        def enter_pass_ctx(self) -> None:
            heard.append(f"{self.name} enters")
            if self.fails:
                raise ValueError("not today")

        def exit_pass_ctx(self) -> None:
            heard.append(f"{self.name} exits")

    instruments = [Listening("first"), Listening("second", fails=True), Listening("third")]
    with pytest.raises(ValueError, match="not today"), tvm.transform.PassContext(instruments=instruments):
        pass

    assert heard == ["first enters", "second enters", "first exits"]


def test_list_configs_has_options_with_their_types() -> None:
    options = tvm.transform.PassContext.list_configs()

    assert options["relay.FuseOps.max_depth"] == {"type": "IntImm"}
    assert options["tir.UnrollLoop"] == {"type": "tir.transform.UnrollLoopConfig"}
    for name in options:
        tvm.transform.PassContext(config={name: {}})


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: transform.InferType()(relay.const(1)), ConfigError, "expected a tvm.IRModule"),
        (
            lambda: run_infer_type(relay.const(True) + relay.const(False)),
            TypeInferError,
            r"add: dtypes are bool, expected numbers(?s:.*)hint: cast makes .*, logical_or and logical_xor",
        ),
        (
            lambda: transform.CollagePartition(),
            UnsupportedError,
            "relay.transform.CollagePartition is not in tvmlite",
        ),
        (lambda: tvm.transform.Sequential([1]), TypeError, "expected Pass objects"),
        (lambda: tvm.transform.PassContext(required_pass=3), TypeError, "list/tuple/set"),
        (lambda: tvm.transform.module_pass(lambda mod, ctx: mod), ValueError, "provide opt_level"),
        (
            lambda: transform.FoldConstants(),
            AttributeError,
            "has no 'FoldConstants'; did you mean FoldConstant",
        ),
    ],
)
def test_mistakes_with_passes_are_errors(use: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use()  # type: ignore[operator]


def test_each_reader_gets_its_own_widening_cast() -> None:
    x = relay.var("x", shape=(3,), dtype="int8")
    shared, narrow = relay.cast(x, "int32"), relay.cast(x, "int8")
    one, other = relay.cast(x, "int32"), relay.cast(x, "int32")

    same(
        run_opt_pass(relay.abs(shared) + relay.negative(shared), transform.CanonicalizeCast()),
        relay.abs(one) + relay.negative(other),
    )
    kept = narrow + relay.negative(narrow)
    same(run_opt_pass(kept, transform.CanonicalizeCast()), kept)


def test_eta_expand_wraps_global_functions_used_as_values() -> None:
    text = """#[version = "0.0.5"]
    def @twice(%x: int32) -> int32 { add(%x, %x) }
    def @main() -> (fn (int32) -> int32) { VALUE }"""
    mod, expected = (
        tvm.relay.parse(text.replace("VALUE", value))
        for value in ("@twice", "fn (%y: int32) -> int32 { @twice(%y) }")
    )

    assert tvm.ir.structural_equal(transform.EtaExpand(expand_global_var=True)(mod), expected)
    assert tvm.ir.structural_equal(transform.EtaExpand()(mod), mod)
    with pytest.raises(UnsupportedError, match=r"EtaExpand\(expand_constructor=True\) is not in tvmlite"):
        transform.EtaExpand(expand_constructor=True)


def test_called_functions_are_defused() -> None:
    a, x = relay.var("a", shape=(3,)), relay.var("x", shape=(3,))

    same(
        run_opt_pass(relay.Call(relay.Function([a], relay.exp(a)), [x]), transform.DefuseOps()), relay.exp(x)
    )


def test_detect_feature_finds_the_kinds_of_nodes() -> None:
    feature, detect = relay.analysis.Feature, relay.analysis.detect_feature
    x = relay.var("x", shape=(3,))
    shared = relay.exp(x)

    assert detect(relay.exp(x)) == {feature.fVar, feature.fOp, feature.fCall}
    assert feature.fGraph in detect(shared + shared)
    assert detect(relay.Let(x, relay.const(1.0), x)) == {feature.fVar, feature.fLet, feature.fConstant}
    assert feature.fFunction in detect(tvm.IRModule.from_expr(x))
    recursive = relay.Let(f := relay.Var("f"), relay.Function([x], f(x)), f)
    assert feature.fLetRec in detect(recursive)


def test_inline_once_does_not_move_a_value_into_a_function() -> None:
    x, y, z, f = (relay.var(name, shape=(3,)) for name in "xyzf")
    inner = relay.Function([y], relay.Let(z, relay.tanh(y), relay.add(f, z)))
    g = relay.var("g")
    twice = relay.Tuple([relay.Call(g, [x]), relay.Call(g, [relay.sin(x)])])
    program = relay.Let(f, relay.exp(x), relay.Let(g, inner, twice))
    once = relay.Let(f, relay.exp(x), relay.Let(g, relay.Function([y], relay.add(f, relay.tanh(y))), twice))

    made = run_opt_pass(program, transform.DeadCodeElimination(inline_once=True))

    same(made, once)


def test_inline_once_inlines_a_function_called_once() -> None:
    x, y, f = relay.var("x", shape=(3,)), relay.var("y", shape=(3,)), relay.var("f")
    function = relay.Function([y], y + x)
    once, twice = (relay.Let(f, function, body) for body in (f(x), f(f(x))))

    made = [run_opt_pass(one, transform.DeadCodeElimination(inline_once=True)) for one in (once, twice)]

    same(made[0], function(x))
    same(made[1], twice)


def test_parameters_of_a_group_are_in_the_order_they_are_read() -> None:
    x, y = relay.var("x", shape=(4, 6)), relay.var("y", shape=(3, 8))
    given = relay.Function([x, y], x + relay.reshape(y, (4, 6)))

    (group,) = [call.op for call in [run_opt_pass(given, transform.FuseOps(2)).body]]

    assert [tuple(p.checked_type.concrete_shape) for p in group.params] == [(3, 8), (4, 6)]
