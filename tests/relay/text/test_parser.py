import gc

import numpy as np
import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.core.alike import alike
from tvmlite.core.errors import ParseError, TypeInferError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Module,
    Tuple,
    TupleGetItem,
    canonical,
    constant,
    var,
)
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import dim, evaluate_dim, show_dim, tensor_type
from tvmlite.relay.passes.fusion.fuse import fuse
from tvmlite.relay.text.parser import parse, parse_expr
from tvmlite.relay.text.printer import astext
from tvmlite.te import expr as te

pytestmark = pytest.mark.usefixtures("toys")

h, w = dim("h"), dim("w")
x = var("x", (2, "h"))
flag = var("flag", (), "bool")


def main_of(body: Expr, *params) -> Module:
    return Module({"main": Function(params or (x,), body)})


def check(module: Module) -> str:
    text = str(module)
    again = parse(text)
    assert alike(again, module)
    assert str(again) == text
    return text


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_round_trip(random_graph, seed: int) -> None:
    module = random_graph(seed, nodes=40, shape=(2, 5) if seed % 2 else ("h", 3))

    check(module)
    check(fuse(module))


@pytest.mark.parametrize("seed", range(5))
def test_text_with_metadata_needs_no_live_constants(random_graph, assert_same_meaning, seed: int) -> None:
    module = random_graph(seed, nodes=40, shape=(4, 7))
    text = astext(module, show_meta_data=True)
    copy = text.replace("\n#[metadata]\n", "\n#[metadata]\n ")

    assert alike(parse(copy), module)
    assert_same_meaning(module, parse(copy))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_floats_round_trip_bit_for_bit(dtype: str) -> None:
    import ml_dtypes  # noqa: F401  (numpy learns bfloat16)

    values = [0.0, -0.0, 1.0, -1.5, 1e-30, 3.4e38, 0.1, np.inf, -np.inf, np.nan, 1 / 3, 65504.0]
    with np.errstate(over="ignore"):
        array = np.array(values).astype(dtype)

    check(main_of(Tuple((constant(array), *(constant(v) for v in array)))))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_round_trip_bit_for_bit(dtype: str) -> None:
    info = np.iinfo(dtype)
    array = np.array([info.min, info.max, 0, 1], dtype)

    check(main_of(Tuple((constant(array), *(constant(v) for v in array)))))


def test_bools_and_empty_arrays_round_trip() -> None:
    arrays = [np.array(True), np.array([[True, False]]), np.zeros((0, 3), "int64"), np.zeros((0,), "float32")]

    text = check(main_of(Tuple(tuple(map(constant, (*arrays, np.arange(8).reshape(2, 2, 2)))))))

    assert "const([[True, False]], bool)" in text
    assert "const([], int64, shape=(0, 3))" in text
    assert "const([[[0, 1], [2, 3]], [[4, 5], [6, 7]]], int64)" in text


def test_a_nan_with_a_payload_is_stored_as_metadata() -> None:
    odd = np.array([0x7FC00001], "uint32").view("float32")

    assert "meta[relay.Constant]" in check(main_of(constant(odd)))


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -3, 2**40, 0.0, -0.0, 1.5, 1e-7, -1e30, float("inf"), float("-inf"),
        float("nan"), "", 'a "quoted"\nline\\', "é", (), (1,), (1, (2.0, None), "x", True), h,
        dim("odd name"), dim("min"), dim("nanf"), (h + 1) // 2, -h, 3 - (h - 1), h % 4 * 2, h - (1 - w),
        h * -1, (1, h + -2, -1), te.Min(h, te.const(3, "int64")), te.TruncDiv(h, w), te.cast("int32", h),
        te.Select(h < w, h, te.const(-1, "int64")), te.Not(te.Not(h < 2)), te.Equal(h < 2, w < 2),
        te.And(h == 1, te.Not(te.Or(w <= 2, w != h))),
    ],
)  # fmt: skip
def test_every_kind_of_attribute_round_trips(value) -> None:
    check(main_of(make("test.attrs", x, value=value)))


def test_random_dimension_expressions_round_trip() -> None:
    import random

    rng = random.Random(0)
    makers = [te.Add, te.Sub, te.Mul, te.FloorDiv, te.FloorMod, te.Min, te.Max, te.TruncDiv, te.TruncMod]
    for _ in range(300):
        pool: list[te.Expr] = [dim("h"), dim("w"), te.const(2, "int64"), te.const(-7, "int64")]
        for _ in range(8):
            pool.append(rng.choice(makers)(rng.choice(pool), rng.choice(pool)))
        call = parse_expr(f"free_var %x: float32; test.attrs(%x, value={show_dim(pool[-1])})")
        assert isinstance(call, Call)
        assert alike(call["value"], pool[-1])
        binding = {dim("h"): 5, dim("w"): 3}
        assert evaluate_dim(call["value"], binding) == evaluate_dim(pool[-1], binding)


def test_let_if_and_functions_round_trip_with_their_blocks() -> None:
    v, p = var("v", (2, "h")), var("p", (2, "h"))
    shared = make("test.relu", x)
    inner = Let(v, shared, If(flag, make("test.add", v, v), make("test.scale", shared)))
    function = Function((p,), make("test.relu", p), (("Primitive", 1),))
    body = make("test.add", inner, Call(function, (Call(function, (x,)),)))

    text = check(main_of(If(flag, body, make("test.flip", x)), flag, x))

    assert text == (
        "def @main(%flag: Tensor[(), bool], %x: Tensor[(2, h), float32]) -> Tensor[(2, h), float32] {\n"
        "  if (%flag) {\n"
        "    %0 = test.relu(%x) /* ty=Tensor[(2, h), float32] */;\n"
        "    %1 = {\n"
        "      let %v: Tensor[(2, h), float32] = %0;\n"
        "      if (%flag) {\n"
        "        test.add(%v, %v) /* ty=Tensor[(2, h), float32] */\n"
        "      } else {\n"
        "        test.scale(%0) /* ty=Tensor[(2, h), float32] */\n"
        "      }\n"
        "    };\n"
        "    %2 = fn (%p: Tensor[(2, h), float32], Primitive=1) -> Tensor[(2, h), float32] {\n"
        "      test.relu(%p) /* ty=Tensor[(2, h), float32] */\n"
        "    };\n"
        "    %3 = %2(%x) /* ty=Tensor[(2, h), float32] */;\n"
        "    %4 = %2(%3) /* ty=Tensor[(2, h), float32] */;\n"
        "    test.add(%1, %4) /* ty=Tensor[(2, h), float32] */\n"
        "  } else {\n"
        "    test.flip(%x) /* ty=Tensor[(2, h), float32] */\n"
        "  }\n"
        "}\n"
    )


def test_tuples_and_projections_round_trip() -> None:
    nested = Tuple((Tuple((x,)), Tuple(()), make("test.split", x)))
    pair = make("test.split", x)

    check(main_of(nested))
    check(main_of(TupleGetItem(TupleGetItem(nested, 2), 1)))
    check(main_of(Tuple((TupleGetItem(pair, 0), TupleGetItem(pair, 1), pair))))
    check(main_of(make("test.concatenate", Tuple((x, TupleGetItem(pair, 1))))))


def test_duplicate_names_are_made_unique_and_others_kept() -> None:
    a, b, odd = var("a", ()), var("a", ()), var("images:0", ())
    text = check(main_of(Tuple((a, b, odd)), a, b, odd))

    assert "%a: Tensor[(), float32], %a_1: " in text
    assert [p.name for p in parse(text).main.params] == ["a", "a_1", "images:0"]


def test_module_attributes_and_unusual_function_names_round_trip() -> None:
    module = Module(
        {"main": Function((x,), x), "odd name": Function((), constant(1))}, ("y",), (("opset", 17),)
    )

    check(module)


def test_deep_graphs_and_long_let_chains_round_trip() -> None:
    value: Expr = x
    for _ in range(3000):
        value = make("test.relu", value)
    check(main_of(value))
    body: Expr = x
    for index in reversed(range(1000)):
        body = Let(var(f"v{index}", (2, "h")), make("test.relu", x), body)
    check(main_of(body))


def test_shared_nodes_stay_shared() -> None:
    value: Expr = x
    for _ in range(60):
        value = make("test.add", value, value)

    again = parse(str(main_of(value)))

    assert sum(isinstance(n, Call) for n in postorder(again.main.body)) == 60


def test_an_expression_is_parsed_with_its_free_variables() -> None:
    expr = parse_expr(str(make("test.add", x, x)))

    assert isinstance(expr, Call)
    assert alike(type_of(expr), tensor_type((2, "h")))


def test_a_large_constant_is_found_while_it_is_alive() -> None:
    big = Constant(np.arange(100, dtype="float32"))
    text = str(main_of(big))

    assert parse(text).main.body is big
    del big
    gc.collect()
    with pytest.raises(
        ParseError, match=r"is not in this text, nor alive in this process: print with astext"
    ):
        parse(text)


def test_omitted_attributes_have_their_defaults() -> None:
    call = parse("def @main(%x: Tensor[(2,), float32]) { test.scale(%x) }").main.body

    assert isinstance(call, Call)
    assert call.attrs == canonical({"factor": 2.0})


def test_a_declared_result_type_is_checked() -> None:
    with pytest.raises(
        TypeInferError, match=r"written as Tensor\[\(3,\), float32\], it is Tensor\[\(2,\), float32\]"
    ):
        parse("def @main(%x: Tensor[(2,), float32]) -> Tensor[(3,), float32] { %x }")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: expected 'def @main"),
        (
            "def @main() {\n  %0 = test.relu(%y);\n  %0\n}",
            r"t:2:18: %y is not defined here\n    %0 = test.relu",
        ),
        ("def @main() { test.nothing() }", "there is no operator 'test.nothing'"),
        ("def @main() { test.relu(1f, axis=1) }", "test.relu: no attribute 'axis'; it has none"),
        ("def @main() { test.relu(1f, 2f) }", "takes 1 arguments, 2 given"),
        ("def @main() { 300u8 }", "300 does not fit in a uint8"),
        ("def @main() { const([[1], [1, 2]], int32) }", "this is no array"),
        ("def @main() { const([1.5], int32) }", "1.5 is not a int32"),
        ("def @main() { 1f", "expected '}', found the end of the text"),
        ("def @main() { $ }", r"unexpected character '\$'"),
        ("def @main(%x: Tensor[(?,), float32]) { %x }", "an unknown extent must have a name here"),
        ("def @main(%x: Tensor[(1,), float33]) { %x }", "dtype 'float33' is not supported"),
        ("def @main() { meta[relay.Constant][0] }", "constant 'number 0' is not in this text"),
        ("def @main() { 1f }\ndef @main() { 1f }", "2:5: @main is defined twice"),
        ("def @main(%x: float32) { %x(1f) }", "%x is called, but is no function"),
        ("def @main(%x: float32) { test.relu(fn () { 1f }) }", "'fn' must begin a line of its own"),
        ("def @main() { " + "(" * 500 + " }", "nested deeper than 100 levels"),
        ("def @main() { " + "if (True) {" * 500 + " }", "blocks nested deeper than 150 levels"),
        ('def @main() { test.attrs(1f, other="\\q") }', "a string that cannot be read"),
        ("def @main() { 1f }\n#[metadata]\n{", "the metadata section is damaged"),
        (
            'def @main() { 1f }\n#[metadata]\n{"0": {"dtype": "int8", "shape": [1], "data": "AA=="}}\n',
            "another hash",
        ),
    ],
)
def test_errors_show_line_and_column(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text, "t")


def test_any_truncated_text_is_an_error_not_a_crash(random_graph) -> None:
    text = astext(fuse(random_graph(3, nodes=10)), show_meta_data=True)
    for end in range(0, len(text.rstrip()), 7):
        with pytest.raises((ParseError, TypeInferError)):
            parse(text[:end])


@pytest.mark.parametrize("dtype", dtypes.NARROW)
def test_narrow_dtypes_are_printed_and_parsed(dtype: str) -> None:
    given = var("given", (3, "n"), dtype)
    kind = dtypes.numpy_of(dtype)
    held = [Constant(np.asarray(a).astype(np.float32).astype(kind)) for a in (1, [1, 0, 1], [1] * 40)]
    module = main_of(Tuple((given, *held)), given)

    assert alike(parse(astext(module, show_meta_data=True)).main, module.main)
    assert f"const(1, {dtype})" in str(module)
