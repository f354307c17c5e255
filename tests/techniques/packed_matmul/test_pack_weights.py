"""Constant weights are packed for the target's vectors; everything else is unchanged."""

import numpy as np
import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.machine.target import Target
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.decisions import Decisions
from tvmlite.techniques.pack24 import operator as dense_24
from tvmlite.techniques.packed_matmul.pack_weights import pack_weights

rng = np.random.default_rng(0)
wide = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")
narrow = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=nehalem")


def const(*shape: int, dtype: str = "float32") -> Constant:
    return constant(rng.standard_normal(shape).astype(dtypes.numpy_of(dtype)))


def packed(param: Var, body: Expr, target: Target = wide) -> Call:
    """The body after the pass; checks that the results are unchanged."""
    before = Module({"main": Function((param,), body)})
    after = pack_weights(target)(before)
    data = rng.standard_normal(param.type.shape).astype(param.type.dtype)
    np.testing.assert_allclose(interpret(after, [data]), interpret(before, [data]), rtol=1e-4, atol=1e-4)
    assert isinstance(after.main.body, Call)
    return after.main.body


@pytest.mark.parametrize(
    ("op", "shape", "attrs"),
    [
        ("nn.dense", (20, 7), {}),
        ("nn.matmul", (7, 20), {}),
        ("nn.matmul", (20, 7), {"transpose_b": True}),
    ],
)
def test_matrix_products_with_a_constant_become_packed_dense(op: str, shape: tuple, attrs: dict) -> None:
    rows = var("x", (5, 7))

    dense = packed(rows, make(op, rows, const(*shape), **attrs))

    assert dense.op == "nn.contrib_dense_pack"
    assert dense["weight_layout"] == "NC16n"
    assert dense.args[1].data.shape == (2, 7, 16)


@pytest.mark.parametrize(
    ("rows", "columns", "block", "blocks"),
    [
        ((1,), 512, 128, 4),
        ((2, 2), 512, 64, 8),
        ((1,), 1000, 144, 7),
        ((1,), 10, 16, 1),
        ((5,), 512, 16, 32),
        (("n",), 512, 16, 32),
    ],
)
def test_for_few_rows_blocks_are_as_wide_as_a_register_tile(
    rows: tuple, columns: int, block: int, blocks: int
) -> None:
    data = var("x", (*rows, 6))
    module = Module({"main": Function((data,), make("nn.dense", data, const(columns, 6)))})

    after = pack_weights(wide)(module)

    dense = after.main.body
    assert dense["weight_layout"] == f"NC{block}n"
    assert dense.args[1].data.shape == (blocks, 6, block)
    given = rng.standard_normal([3 if extent == "n" else extent for extent in (*rows, 6)]).astype("float32")
    np.testing.assert_allclose(interpret(after, [given]), interpret(module, [given]), rtol=1e-4, atol=1e-4)


def test_bfloat16_rows_are_packed_in_pairs_where_pairs_are_multiplied_at_once() -> None:
    rows = var("x", (3, 6), "bfloat16")
    weight = const(20, 6, dtype="bfloat16")
    module = Module({"main": Function((rows,), make("nn.dense", rows, weight, out_dtype="float32"))})
    after = pack_weights(wide)(module).main.body
    data = rng.standard_normal((3, 6)).astype(rows.type.dtype)

    assert after["weight_layout"] == "NC16n2c"
    assert after.args[1].data.shape == (2, 3, 16, 2)
    assert after.args[1].data[1, 2, 3, 1] == weight.data[19, 5]
    np.testing.assert_allclose(
        interpret(pack_weights(wide)(module), [data]), interpret(module, [data]), rtol=1e-5, atol=1e-5
    )
    assert pack_weights(narrow)(module) is module


@pytest.mark.parametrize(
    ("columns", "target", "layout", "shape"),
    [
        (20, wide, "NC16n4c", (2, 2, 16, 4)),
        (9, wide, "NC16n", (1, 7, 16)),
        (20, "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", "NC8n4c", (3, 2, 8, 4)),
        (20, narrow, "NC4n4c", (5, 2, 4, 4)),
        (20, "llvm -mtriple=aarch64-linux-gnu -mattr=+i8mm", "NC4n4c", (5, 2, 4, 4)),
        (20, "llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod", "NC4n", (5, 7, 4)),  # int8 by int8
        (20, "llvm -mtriple=aarch64-linux-gnu", "NC4n", (5, 7, 4)),
    ],
)
def test_byte_rows_are_packed_in_fours_where_four_are_multiplied_at_once(
    columns: int, target: Target | str, layout: str, shape: tuple
) -> None:
    rows = var("x", (5, 7), "uint8")
    weight = constant(rng.integers(-128, 128, (columns, 7)).astype("int8"))

    dense = packed(rows, make("nn.dense", rows, weight, out_dtype="int32"), Target.parse(target))

    assert dense["weight_layout"] == layout
    assert dense.args[1].data.shape == shape


def test_a_graph_without_packed_kernels_is_the_same_object() -> None:
    rows, turned = var("x", (3, 7)), var("x", (7, 3))
    half = var("x", (3, 7), "float16")
    cases = [
        ((half,), make("nn.dense", half, const(5, 7, dtype="float16"))),
        ((turned,), make("nn.matmul", turned, const(7, 5), transpose_a=True)),
        ((rows,), make("nn.relu", rows)),
    ]
    for params, body in cases:
        module = Module({"main": Function(params, body)})
        assert pack_weights(wide)(module) is module


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize(("rows", "few"), [((1,), True), ((2, 2), True), ((5,), False), (("n",), False)])
def test_rounded_weights_read_by_few_rows_are_stored_in_16_bits(
    precision: str, rows: tuple, few: bool
) -> None:
    data = var("x", (*rows, 6))
    rounded = const(20, 6, dtype=precision).data.astype("float32")
    module = Module({"main": Function((data,), make("nn.dense", data, constant(rounded)))})
    after = pack_weights(narrow, precision)(module)

    weight = after.main.body.args[1]
    assert weight.data.dtype == dtypes.numpy_of(precision if few else "float32")
    assert pack_weights(narrow)(module).main.body.args[1].data.dtype == np.float32
    assert pack_weights(wide, precision)(module).main.body.args[1].data.dtype == np.float32
    given = rng.standard_normal([3 if extent == "n" else extent for extent in (*rows, 6)]).astype("float32")
    np.testing.assert_allclose(interpret(after, [given]), interpret(module, [given]), rtol=1e-5, atol=1e-5)


def test_weights_not_representable_in_16_bits_keep_their_dtype() -> None:
    data = var("x", (1, 6))
    for weight in (const(20, 6), constant(np.full((20, 6), 70000, "float32")), const(20, 6, dtype="float64")):
        given = data if weight.data.dtype == np.float32 else make("cast", data, dtype="float64")
        module = Module({"main": Function((data,), make("nn.dense", given, weight))})

        after = pack_weights(narrow, "float16")(module).main.body.args[1]

        assert after.data.dtype == weight.data.dtype


def few_rows(rows: int = 1, columns: int = 512, terms: int = 200, op: str = "nn.dense") -> Module:
    x = var("x", (rows, terms))
    weight = const(terms, columns) if op == "nn.matmul" else const(columns, terms)
    return Module({"main": Function((x,), make(op, x, weight))})


@pytest.mark.parametrize(("rows", "layout"), [(1, "NC128n"), (2, "NC128n"), (3, "NC64n"), (4, "NC64n")])
@pytest.mark.parametrize("op", ["nn.dense", "nn.matmul"])
def test_a_weight_read_by_few_rows_is_stored_in_24_bits_if_the_bound_allows(
    rows: int, layout: str, op: str
) -> None:
    module = few_rows(rows, op=op)

    made = pack_weights(wide, error_bound=1e-4)(module)

    assert isinstance(made.main.body, Call)
    assert (made.main.body.op, made.main.body["weight_layout"]) == (dense_24.DENSE, layout)
    data = rng.standard_normal((rows, 200)).astype("float32")
    want = interpret(module, [data])
    np.testing.assert_allclose(interpret(made, [data]), want, atol=3e-5 * float(np.abs(want).max()))


def of_one(value: float) -> Module:
    weight = rng.standard_normal((512, 200)).astype("float32")
    weight[3, 5] = value
    x = var("x", (1, 200))
    return Module({"main": Function((x,), make("nn.dense", x, constant(weight)))})


@pytest.mark.parametrize(
    ("module", "target", "options"),
    [
        *((of_one(value), wide, {"error_bound": 1e-4}) for value in (np.inf, np.nan, -3e38)),
        (few_rows(), wide, {"error_bound": 2e-5}),
        (few_rows(), wide, {"error_bound": 1e-4, "precision": "bfloat16"}),
        (few_rows(), Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver3"), {"error_bound": 1e-4}),
        (few_rows(rows=5), wide, {"error_bound": 1e-4}),
        (few_rows(columns=260, terms=400), wide, {"error_bound": 1e-4}),
        (few_rows(terms=100), wide, {"error_bound": 1e-4}),
    ],
    ids=[
        "infinite",
        "not a number",
        "too large",
        "a small bound",
        "16 bits",
        "short vectors",
        "many rows",
        "a block half empty",
        "a small weight",
    ],
)
def test_other_weights_keep_all_bits(module: Module, target: Target, options: dict) -> None:
    made = pack_weights(target, **options)(module)

    assert isinstance(made.main.body, Call)
    assert made.main.body.op == "nn.contrib_dense_pack"


def test_a_decision_can_keep_all_bits() -> None:
    module = few_rows()
    asked = Decisions()
    pack_weights(wide, error_bound=1e-4, decisions=asked)(module)
    ((name, decision),) = asked.asked.items()

    made = pack_weights(wide, error_bound=1e-4, decisions=Decisions({name: "float32"}))(module)

    assert name.startswith("weight nn.dense, (1, 512) #")
    assert (decision.alternatives, decision.default) == (("float32", "24 bits"), "24 bits")
    assert isinstance(made.main.body, Call)
    assert made.main.body.op == "nn.contrib_dense_pack"
