"""Relay text as TVM 0.11 prints and reads it."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, ParseError, TypeInferError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.relay.text.comments import without_comments
from tvmlite.tvm.runtime import container

VERSION = '#[version = "0.0.5"]\n'


def read(text: str) -> object:
    """Parse ``text`` into an expression, and check that its printed text is parsed back."""
    made = tvm.parser.parse_expr(text)
    if isinstance(made, relay.Expr):
        tvm.ir.assert_structural_equal(tvm.parser.parse_expr(made.astext()), made, map_free_vars=True)
    return made


def same(text: str, expected: object) -> bool:
    return tvm.ir.structural_equal(read(text), expected, map_free_vars=True)


def test_a_module_with_types_is_printed_as_tvm_prints_it() -> None:
    x = relay.var("x", shape=(2, 3))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.nn.softmax(x + relay.const(1.0), axis=0)))

    assert mod.astext() == VERSION + (
        "def @main(%x: Tensor[(2, 3), float32] /* ty=Tensor[(2, 3), float32] */)"
        " -> Tensor[(2, 3), float32] {\n"
        "  %0 = add(%x, 1f /* ty=float32 */) /* ty=Tensor[(2, 3), float32] */;\n"
        "  nn.softmax(%0, axis=0) /* ty=Tensor[(2, 3), float32] */\n"
        "}\n"
    )
    assert str(mod) == mod.astext().removeprefix(VERSION)
    assert tvm.ir.structural_equal(tvm.parser.parse(mod.astext()), mod)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (lambda x: relay.nn.dense(x, x), "nn.dense(%x, %x, units=None)"),
        (lambda x: relay.clip(x, -1.0, 6.0), "clip(%x, a_min=-1f, a_max=6f)"),
        (lambda x: relay.take(x, relay.const(1), 0), "take(%x, 1, axis=0)"),
        (lambda x: relay.ones((2,), "float32"), 'ones(shape=[2], dtype="float32")'),
        (
            lambda x: relay.nn.conv2d_transpose(x, x, channels=2, strides=(2, 2)),
            "nn.conv2d_transpose(%x, %x, channels=2, strides=[2, 2], padding=[0, 0, 0, 0])",
        ),
    ],
)
def test_attributes_are_printed_in_tvms_order(written: Any, text: str) -> None:
    made = written(relay.var("x"))

    assert made.astext().splitlines()[-1] == text
    assert same(made.astext(), made)


def test_types_are_not_printed_before_they_are_inferred() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y")

    assert relay.Function([x, y], relay.add(x, y)).astext() == VERSION + (
        "fn (%x: Tensor[(2), float32], %y) {\n  add(%x, %y)\n}"
    )


def test_fields_and_tuples_are_printed_on_their_own_lines() -> None:
    x = relay.var("x", shape=(4, 2))
    first, second = relay.split(x, 2)

    assert relay.concatenate([second, first], axis=1).astext() == VERSION + (
        "free_var %x: Tensor[(4, 2), float32];\n"
        "%0 = split(%x, indices_or_sections=2);\n"
        "%1 = %0.1;\n"
        "%2 = %0.0;\n"
        "%3 = (%1, %2);\n"
        "concatenate(%3, axis=1)"
    )


def test_an_annotation_replaces_the_type() -> None:
    call = relay.exp(relay.var("x", shape=(2,)))

    text = call.astext(annotate=lambda node: "here" if isinstance(node, relay.Call) else "")

    assert text.endswith("exp(%x) /* here */")


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [(42, "int16", "42i16"), (7, "int32", "7"), (-3, "int64", "-3i64"), (2.5, "float16", "2.5f16"),
     (3.0, "float64", "3f64"), (True, "bool", "True")],
)  # fmt: skip
def test_scalars_are_written_with_their_dtype(value: object, dtype: str, text: str) -> None:
    one = relay.const(value, dtype)

    assert one.astext() == VERSION + text
    assert same(text, one)


def test_arrays_are_in_the_metadata() -> None:
    weight = relay.const(np.arange(6, dtype=np.float32).reshape(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([], relay.exp(weight)))

    assert "meta[relay.Constant][0]" in str(mod)
    assert "#[metadata]" not in str(mod)
    assert tvm.ir.structural_equal(tvm.parser.parse(mod.astext()), relay.transform.InferType()(mod))
    given = tvm.parser.parse(VERSION + str(mod), init_meta_table={"relay.Constant": [weight]})
    assert tvm.ir.structural_equal(given, relay.transform.InferType()(mod))


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!="])
def test_infix_operators_are_calls(sign: str) -> None:
    names = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "<": "less", "<=": "less_equal",
             ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal"}  # fmt: skip

    assert same(f"2 {sign} 3", getattr(relay, names[sign])(relay.const(2), relay.const(3)))


def test_operators_bind_as_in_arithmetic() -> None:
    assert tvm.ir.structural_equal(read("1 + 2 * 3 == 7"), read("((1 + (2 * 3)) == 7)"))
    assert tvm.ir.structural_equal(read("1 - 2 - 3"), read("(1 - 2) - 3"))
    assert not tvm.ir.structural_equal(read("(1 + 2) * 3"), read("1 + 2 * 3"))
    assert read("--10").data.numpy() == 10  # type: ignore[attr-defined]
    assert read("2147483648").data.dtype == np.int64  # type: ignore[attr-defined]


def test_functions_lets_and_branches_are_read() -> None:
    x, y = relay.var("x"), relay.var("y")

    assert same("fn (%x, %y) { %x + %y }", relay.Function([x, y], relay.add(x, y)))
    assert same(
        "let %x = 1; let %y = %x; (%y,)", relay.Let(x, relay.const(1), relay.Let(y, x, relay.Tuple([y])))
    )
    assert same("if (True) { 0 } else { 1 }", relay.If(relay.const(True), relay.const(0), relay.const(1)))
    assert same("(fn (%x) { %x })(0)", relay.Call(relay.Function([x], x), [relay.const(0)]))
    assert same("(); 5", relay.Let(x, relay.Tuple([]), relay.const(5)))
    assert same("%0 = (1, 2); %0.1", relay.TupleGetItem(relay.Tuple([relay.const(1), relay.const(2)]), 1))
    assert isinstance(read("nn.relu"), tvm.ir.Op)
    assert read("@other").name_hint == "other"  # type: ignore[attr-defined]


def test_a_let_function_can_refer_to_itself() -> None:
    found = tvm.parser.parse_expr("let %f = 1; let %f = fn (%n: int) -> int { %f(%n) }; %f(2)")

    inner = found.body
    assert inner.value.body.op is inner.var
    assert inner.body.op is inner.var
    assert inner.var is not found.var


def test_functions_of_a_module_call_each_other_in_text() -> None:
    mod = tvm.parser.parse(
        VERSION
        + "def @scale(%x: Tensor[(?, 2), float32]) { %x * 2f }\n"
        + "// the model\n"
        + "def @main(%x: Tensor[(3, 2), float32]) -> Tensor[(3, 2), float32] { @scale(nn.relu(%x)) }"
    )

    text = mod.astext()
    assert "@scale(%0) /* ty=Tensor[(3, 2), float32] */" in text
    assert "Tensor[(?, 2), float32]" in text
    assert tvm.ir.structural_equal(tvm.parser.fromtext(text), mod)
    ones = np.ones((3, 2), np.float32)
    np.testing.assert_array_equal(relay.create_executor("graph", mod).evaluate()(ones).numpy(), 2 * ones)


def test_nested_comments_are_removed_and_lines_kept() -> None:
    text = '%0 = "/* no */" /* a /* b */ c */; // d\n(h // 2) /* open\n'
    found = without_comments(text)

    assert found.split() == ["%0", "=", '"/*', "no", '*/"', ";", "(h", "//", "2)"]
    assert [len(line) for line in found.split("\n")] == [len(line) for line in text.split("\n")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2147483648i32", "1:1: 2147483648 does not fit in a int32"),
        ("3.5e38f", "3.5e38f does not fit in a float32"),
        ("%nowhere", "%nowhere is not defined here"),
        ("no_such_operator(1)", "there is no operator 'no_such_operator'"),
        ("nn.softmax(1f, axes=2)", "nn.softmax: no attribute 'axes'"),
        ("let @x = 1; ()", "expected a variable"),
        ("meta[relay.Constant][3]", "constant 'number 3' is not in this text"),
        ("if (True) { let %x = 1; %x } else { %x }", "%x is not defined here"),
        ("1 +", "expected an expression"),
    ],
)
def test_error_of_a_mistake_in_text_has_its_location(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message.replace("(", r"\(").replace("[", r"\[")):
        tvm.parser.parse_expr(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ref(1)", "references"),
        ("match (1) {}", "algebraic data types"),
        ("memory.kill(1)", r"(?s)the operator memory\.kill is not .*lowered by TVM"),
    ],
)
def test_unsupported_constructs_in_text_are_named(text: str, what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        tvm.parser.parse_expr(text)
    with pytest.raises(ParseError, match=r"version '0.0.4' of the text, expected '0.0.5'"):
        tvm.parser.parse('#[version = "0.0.4"]\ndef @main() { 1 }')


def test_json_holds_modules_expressions_and_types() -> None:
    x = relay.var("x", shape=(2,))
    mod = relay.transform.InferType()(
        tvm.IRModule.from_expr(relay.exp(x) * relay.const(np.ones(2, np.float32)))
    )
    pair = relay.TupleType([relay.TensorType((2, 3)), relay.FuncType([], relay.scalar_type("bool"))])
    for one in (mod, mod["main"], relay.nn.relu(x), pair):
        assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(one)), one, map_free_vars=True)
    for one in (container.ShapeTuple([1, -4]), container.String("xyz")):
        again = tvm.ir.load_json(tvm.ir.save_json(one))
        assert (type(again), again) == (type(one), one)
    with pytest.raises(InputError, match=r"this is not what tvm\.ir\.save_json wrote"):
        tvm.ir.load_json('{"root": 1}')
    with pytest.raises(InputError, match="save_json: 3 given, expected a module"):
        tvm.ir.save_json(3)


def test_variables_with_equal_names_are_renamed() -> None:
    a, b = relay.var("x", shape=()), relay.var("x", shape=())

    assert "fn (%x: float32, %x1: float32) {\n  subtract(%x, %x1)" in relay.Function([a, b], a - b).astext()
    assert "%v1" in relay.var("1").astext()
    assert '%"block/x"' in relay.var("block/x").astext()


def test_a_deep_graph_is_printed_and_read() -> None:
    value = x = relay.var("x", shape=(2,))
    for _ in range(3000):
        value = relay.add(value, x)
    function = relay.Function([x], value)

    assert tvm.ir.structural_equal(tvm.parser.fromtext(function.astext()), function)


def test_fromtext_skips_blank_lines_and_comments_before_a_module() -> None:
    body = "/* of one */\ndef @main(%x: float32) {\n  %x\n}\n"

    for text in (f"\n  {VERSION}{body}", f"\n{body}", f"// first\n{VERSION}{body}"):
        assert isinstance(relay.fromtext(text), tvm.IRModule)
    assert relay.fromtext('\n#[version = "0.0.5"] 1').data == 1


@pytest.mark.parametrize("text", ["def @same[A](%x: A) -> A { %x }", "def @main() { fn [A](%x: A) { %x } }"])
def test_type_parameters_are_an_error(text: str) -> None:
    with pytest.raises(UnsupportedError, match="type parameters is not supported") as caught:
        tvm.parser.parse(VERSION + text)
    assert "write its types in full" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("9223372036854775808", "9223372036854775808 does not fit in an int64"),
        ("(1, add)", r"add is an operator, which has to be called: add\(...\)"),
        ("let %x = nn.relu; 1", "nn.relu is an operator"),
    ],
)
def test_invalid_values_in_text_are_errors(text: str, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        tvm.parser.parse_expr(text)


def _of_tvm(arrays: list[np.ndarray]) -> str:
    """A metadata section as TVM writes it: objects by index, and arrays in base64."""
    made = [tvm.runtime.save_param_dict({"": one}) for one in arrays]
    texts = [base64.b64encode(bytes(one[40:])).decode() for one in made]  # behind the list of one empty name
    constants = [{"type_key": "relay.Constant", "attrs": {"data": str(one)}} for one in range(len(arrays))]
    root = {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]}
    array = {"type_key": "Array", "data": [*range(3, 3 + len(arrays))]}
    nodes = [{"type_key": ""}, root, array, *constants]
    return "\n#[metadata]\n" + json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": texts})


def test_constants_written_by_tvm_are_read() -> None:
    arrays = [np.arange(6, dtype="float32").reshape(2, 3), np.array([[-3], [4]], "int64")]
    text = (
        VERSION
        + 'add(meta[relay.Constant][0], cast(meta[relay.Constant][1], dtype="float32"))'
        + _of_tvm(arrays)
    )

    made = tvm.parser.parse_expr(text)
    np.testing.assert_array_equal(relay.create_executor().evaluate(made).numpy(), arrays[0] + arrays[1])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"root": 1', '"root": 9', "damaged: IndexError"),
        ('"data": "0"', '"data": "x"', "damaged: ValueError"),
        ("P6G0", "P6F0", r"damaged: relay.Constant\[0\]: read_array: the array .* its magic number"),
        ("P6G0", "*", r"damaged: relay.Constant\[0\]"),
    ],
)
def test_damaged_constants_of_tvm_are_an_error(old: str, new: str, said: str) -> None:
    section = _of_tvm([np.ones(3, "float32")])
    assert old in section

    with pytest.raises(ParseError, match=said):
        tvm.parser.parse_expr(f"{VERSION}exp(meta[relay.Constant][0]){section.replace(old, new, 1)}")


def test_an_argument_repeated_as_an_attribute_is_read_once() -> None:
    made = relay.fromtext(
        f'{VERSION}arange(0, 5, 2, start=meta[relay.Constant][0], stop=None, step=None, dtype="int32")'
        + _of_tvm([np.array(0, "int32")])
    )

    np.testing.assert_array_equal(relay.create_executor().evaluate(made).numpy(), [0, 2, 4])

    bound = relay.fromtext(
        f"{VERSION}let %n = 4; arange(%n, %n, %n, start=meta[relay.Constant][0], "
        'stop=meta[relay.Constant][1], step=meta[relay.Constant][0], dtype="int32")'
        + _of_tvm([np.array(1, "int32"), np.array(4, "int32")])
    )
    np.testing.assert_array_equal(relay.create_executor().evaluate(bound).numpy(), [1, 2, 3])


def test_a_let_declared_with_any_has_the_type_of_its_value() -> None:
    y, x = relay.var("y", shape=(relay.Any(), 3)), relay.var("x", shape=(2, 3))
    joined = relay.var("joined", shape=(relay.Any(), 3))
    body = relay.Let(joined, relay.concatenate([y, x], axis=0), relay.exp(joined))
    mod = tvm.IRModule.from_expr(relay.Function([y, x], body))
    rows = [np.ones((4, 3), "float32"), np.zeros((2, 3), "float32")]

    for one in (mod, relay.fromtext(relay.transform.InferType()(mod).astext())):
        found = relay.create_executor("vm", one).evaluate()(*rows)
        np.testing.assert_allclose(found.numpy(), np.exp(np.concatenate(rows)), rtol=1e-6)
    wrong = relay.Let(relay.var("w", shape=(relay.Any(), 4)), relay.concatenate([y, x], axis=0), x)
    with pytest.raises(TypeInferError, match="let %w: declared"):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([y, x], wrong)))


def test_a_function_of_a_let_is_printed_with_its_type() -> None:
    x = relay.var("x", shape=(2,))
    double = relay.var("double")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Let(double, relay.Function([], x + x), double())))

    assert "  } /* ty=fn () -> Tensor[(2), float32] */;\n" in relay.transform.InferType()(mod).astext()


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("nn.batch_matmul(%x, %x)", lambda x: relay.nn.batch_matmul(x, x, transpose_b=False)),
        ("nn.batch_matmul(%x, %x, transpose_b=True)", lambda x: relay.nn.batch_matmul(x, x)),
        ("nn.leaky_relu(%x)", lambda x: relay.nn.leaky_relu(x, 0.25)),
        ("nn.leaky_relu(%x, alpha=0.01f)", lambda x: relay.nn.leaky_relu(x, 0.01)),
        ("nn.lrn(%x)", lambda x: relay.nn.lrn(x, alpha=0.0001)),
        ("nn.lrn(%x, alpha=1e-05f)", lambda x: relay.nn.lrn(x)),
    ],
)
def test_defaults_are_left_out_as_in_tvm(text: str, made: Any) -> None:
    x = relay.var("x", shape=(1, 3, 3))

    assert made(x).as_text().splitlines()[-1] == text
    read_again = tvm.parser.parse_expr(f"free_var %x: Tensor[(1, 3, 3), float32]; {text}")
    tvm.ir.assert_structural_equal(read_again, made(x), map_free_vars=True)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (
            "nn.pad(%x, 3f, pad_width=[[1, 0], [0, 2]])",
            lambda x: np.pad(x, [(1, 0), (0, 2)], constant_values=3),
        ),
        (
            'nn.pad(%x, 0, pad_width=[[1, 0], [0, 2]], pad_mode="edge")',
            lambda x: np.pad(x, [(1, 0), (0, 2)], "edge"),
        ),
        ("trilu(%x, 1, upper=False)", lambda x: np.tril(x, 1)),
        ("arange(1, 6, 2)", lambda x: np.arange(1, 6, 2, dtype="float32")),
    ],
)
def test_tvms_arguments_are_read_as_our_attributes(text: str, made: Any) -> None:
    x = np.arange(9, dtype="float32").reshape(3, 3)
    body = tvm.parser.parse_expr(f"fn (%x: Tensor[(3, 3), float32]) {{ {text} }}")

    np.testing.assert_array_equal(relay.create_executor().evaluate(body)(x).numpy(), made(x))


def test_attributes_in_the_metadata_are_an_error() -> None:
    with pytest.raises(ParseError, match=r"relay\.attrs\.ScanopAttrs of the metadata is not read"):
        tvm.parser.parse_expr(
            "free_var %x: Tensor[(3), float32]; cumsum(%x, meta[relay.attrs.ScanopAttrs][0])"
        )


def test_a_let_nested_in_a_value_is_printed_in_parentheses() -> None:
    x, y, z, q = (relay.var(name) for name in "xyzq")
    nested = relay.Let(z, relay.Let(q, x + x, y), z + z)

    assert str(nested).splitlines()[2:] == [
        "let %z = (",
        "  let %q = add(%x, %x);",
        "  %y",
        ");",
        "add(%z, %z)",
    ]
    assert tvm.ir.structural_equal(tvm.parser.parse_expr(nested.astext()), nested, map_free_vars=True)


@pytest.mark.parametrize(
    ("build", "written"),
    [
        (lambda x: relay.sum(x, axis=1), "sum(%x, axis=[1])"),
        (lambda x: relay.clip(x, 0, 6), "clip(%x, a_min=0f, a_max=6f)"),
        (lambda x: relay.argsort(x), 'argsort(%x, dtype="int32")'),
        (lambda x: relay.shape_of(x), 'shape_of(%x, dtype="int32")'),
        (lambda x: relay.topk(x, 2, ret_type="values"), 'topk(%x, k=2, ret_type="values", dtype="int32")'),
        (
            lambda x: relay.strided_slice(x, [0], [1], axes=[1]),
            "strided_slice(%x, begin=[0], end=[1], strides=[1], axes=[1])",
        ),
        (
            lambda x: relay.qnn.op.quantize(x, relay.const(0.5), relay.const(0), out_dtype="int8"),
            'qnn.quantize(%x, 0.5f, 0, out_dtype="int8")',
        ),
    ],
)
def test_attributes_are_printed_in_tvms_form(build: Any, written: str) -> None:
    x = relay.var("x", shape=(2, 3))
    call = build(x)

    assert str(call).splitlines()[-1] == written
    assert tvm.ir.structural_equal(tvm.parser.parse_expr(call.astext()), call, map_free_vars=True)


def test_equivalent_spellings_of_attributes_are_equal() -> None:
    x = relay.var("x", shape=(2, 3))
    pairs = [
        (relay.max(x, 1), relay.max(x, [1])),
        (relay.clip(x, 0, 6), relay.clip(x, 0.0, 6.0)),
        (relay.cumsum(x, 1), relay.cumsum(x, 1, exclusive=False)),
    ]

    for one, other in pairs:
        assert tvm.ir.structural_equal(one, other)
        assert tvm.ir.structural_hash(one) == tvm.ir.structural_hash(other)
    assert not tvm.ir.structural_equal(relay.max(x, 1), relay.max(x, [0]))
