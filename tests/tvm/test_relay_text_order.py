"""The order, numbers and names of values in Relay text are those of TVM."""

from __future__ import annotations

import numpy as np

import tvmlite.tvm as tvm
from tvmlite.tvm import relay


def lines(node: relay.Expr) -> list[str]:
    """The printed lines of ``node`` without types of variables; also checks that the text is parsed back."""
    text = node.astext()
    tvm.ir.assert_structural_equal(tvm.parser.parse_expr(text), node, map_free_vars=True)
    return [line.replace(": Tensor[(2), float32]", "") for line in text.splitlines()[1:]]


def x(name: str = "x") -> relay.Var:
    return relay.var(name, shape=(2,))


def test_inputs_of_operands_are_printed_before_the_operands() -> None:
    a, b = x("a"), x("b")
    both = relay.nn.relu(relay.exp(a)), relay.nn.relu(relay.exp(b))

    wanted = ["%0 = exp(%a);", "%1 = exp(%b);", "%2 = nn.relu(%0);", "%3 = nn.relu(%1);"]
    free = ["free_var %a;", "free_var %b;"]
    assert lines(relay.add(*both)) == [*free, *wanted, "add(%2, %3)"]
    assert lines(relay.concatenate(list(both), 0)) == [*free, *wanted, "%4 = (%2, %3);", "concatenate(%4)"]


def test_a_shared_operand_is_printed_at_its_first_use() -> None:
    once = relay.exp(x())

    assert lines(relay.Tuple([relay.nn.relu(once), relay.nn.relu(relay.tan(once)), once]))[1:] == [
        "%0 = exp(%x);",
        "%1 = tan(%0);",
        "%2 = nn.relu(%0);",
        "%3 = nn.relu(%1);",
        "(%2, %3, %0)",
    ]


def test_a_local_function_is_numbered_after_its_body() -> None:
    a, b = x("a"), x("b")
    tangent = relay.Function([a], relay.exp(relay.tan(a)))
    sine = relay.Function([b], relay.sin(relay.cos(b)))

    assert lines(tangent(sine(relay.nn.relu(x("z")))))[1:] == [
        "%2 = nn.relu(%z);",
        "%3 = fn (%b) {",
        "  %1 = cos(%b);",
        "  sin(%1)",
        "};",
        "%4 = %3(%2);",
        "%5 = fn (%a) {",
        "  %0 = tan(%a);",
        "  exp(%0)",
        "};",
        "%5(%4)",
    ]


def test_numbering_continues_across_functions_of_a_module() -> None:
    first, second = x(), x()
    mod = tvm.IRModule()
    mod["first"] = relay.Function([first], relay.exp(relay.tan(first)))
    mod["second"] = relay.Function([second], relay.sin(relay.cos(second)))

    text = str(mod)
    assert "%0 = tan(%x)" in text
    assert "def @second(%x1: " in text
    assert "%1 = cos(%x1)" in text
    assert tvm.ir.structural_equal(tvm.parser.parse(mod.astext()), mod)


def test_a_deep_graph_is_printed_in_order() -> None:
    value: relay.Expr = x()
    for _ in range(3000):
        value = relay.add(value, relay.nn.relu(value))

    assert len(value.astext().splitlines()) == 2 * 3000 + 2


def test_parameters_of_a_group_are_in_order_of_first_read() -> None:
    data, scale = x("data"), x("scale")
    mod = tvm.IRModule.from_expr(relay.multiply(data, relay.sqrt(relay.add(scale, relay.const(1e-5)))))
    fused = relay.transform.FuseOps(2)(relay.transform.InferType()(mod))

    call = fused["main"].body
    assert [arg.name_hint for arg in call.args] == ["scale", "data"]
    given = {"data": np.array([1, 2], np.float32), "scale": np.array([4, 9], np.float32)}
    result = relay.create_executor("graph", fused).evaluate()(**given)
    np.testing.assert_allclose(result.numpy(), given["data"] * np.sqrt(given["scale"] + 1e-5), rtol=1e-6)


def test_a_group_of_reshape_like_is_not_reshape_only() -> None:
    def attrs(made: relay.Expr) -> dict[str, object]:
        return dict(relay.testing.run_opt_pass(made, relay.transform.FuseOps()).op.attrs)

    data = relay.var("x", shape=(2, 3))
    assert attrs(relay.reshape(data, (6,)))["relay.reshape_only"] == 1
    assert "relay.reshape_only" not in attrs(relay.reshape_like(data, relay.var("y", shape=(6,))))


def test_passes_over_functions_infer_types_and_normal_forms_do_not() -> None:
    mod = tvm.IRModule.from_expr(relay.exp(relay.tan(x())))
    normal = relay.transform.ToANormalForm()(relay.transform.InferType()(mod))
    blocks = relay.transform.ToBasicBlockNormalForm()(relay.transform.InferType()(mod))

    assert "float32] */) -> Tensor[(2), float32] {" in str(normal)
    assert "%0 = tan(%x);" in str(blocks)
    assert "let %x1 = tan(%x);" in str(normal)
    assert "let %x1: Tensor[(2), float32]" in str(relay.transform.InferType()(normal))
    for made in (relay.transform.ToGraphNormalForm()(normal), relay.transform.DefuseOps()(mod)):
        assert "%0 = tan(%x) /* ty=Tensor[(2), float32] */;" in str(made)
