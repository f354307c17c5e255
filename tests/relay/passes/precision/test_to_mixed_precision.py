"""Products of 16 bits, all else in 32, and a module whose inputs and outputs keep their types."""

import numpy as np
import pytest

from tvmlite.core.alike import alike
from tvmlite.core.errors import ConfigError
from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import same_type
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes import pipeline
from tvmlite.relay.passes.precision.to_mixed_precision import has_16_bit_products, to_mixed_precision
from tvmlite.te.codegen import process
from tvmlite.techniques.winograd import operator as winograd

WITHOUT = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver3")
"""A processor that has no arithmetic of 16 bits."""

WITH = ("znver4", "znver5", "cooperlake", "sapphirerapids")

rng = np.random.default_rng(0)
x = var("x", (3, "n", 16))


def const(*shape: int) -> Constant:
    return constant((rng.standard_normal(shape) / 4).astype("float32"))


def cast(value: Expr, dtype: str) -> Expr:
    return make("cast", value, dtype=dtype)


def dense(value: Expr, units: int = 16) -> Expr:
    return make("nn.dense", value, const(units, 16))


def mixed(body: Expr, dtype: str = "bfloat16", **lists) -> Module:
    """The module after the pass: well formed, of the same types, and nearly the same meaning."""
    before = Module({"main": Function((x,), body)})
    after = to_mixed_precision(dtype, **lists)(before)
    verify(after)
    assert same_type(type_of(after.main.body), type_of(before.main.body))
    data = rng.standard_normal((3, 5, 16)).astype("float32")
    made, wanted = (interpret(one, [data]) for one in (after, before))
    for a, b in zip(made, wanted, strict=True) if isinstance(wanted, (tuple, list)) else [(made, wanted)]:
        assert a.dtype == b.dtype
        assert np.abs(a - b).max() <= 4e-2 * np.abs(b).max()
    return after


def dtypes(module: Module) -> list[tuple[str, str]]:
    """Operators and the dtypes of their first arguments."""
    calls = [node for node in postorder(module.main.body) if isinstance(node, Call)]
    return [(str(c.op), tensor_type_of(c.args[0]).dtype) for c in calls if not isinstance(c.args[0], Tuple)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_product_takes_narrow_operands_and_gives_its_sums(dtype: str) -> None:
    weight = const(4, 16)
    after = mixed(make("nn.dense", x, weight), dtype)
    expected = make("nn.dense", cast(x, dtype), cast(weight, dtype), out_dtype="float32")

    assert alike(after.main.body, expected)


def test_what_is_behind_a_product_works_on_its_sums_and_is_rounded_where_the_next_reads_it() -> None:
    bias, first, second = const(16), const(16, 16), const(16, 16)

    def tail(product: Expr) -> Expr:
        return make("nn.gelu", make("add", product, bias))

    after = mixed(make("nn.dense", tail(make("nn.dense", x, first)), second))
    sums = make("nn.dense", cast(x, "bfloat16"), cast(first, "bfloat16"), out_dtype="float32")
    rounded = cast(tail(sums), "bfloat16")
    expected = make("nn.dense", rounded, cast(second, "bfloat16"), out_dtype="float32")

    assert alike(after.main.body, expected)


def test_all_readers_of_a_rounded_value_read_the_rounded_one() -> None:
    normal = make("nn.softmax", make("exp", x))
    after = mixed(make("add", normal, dense(normal)))

    (total,) = (node for node in postorder(after.main.body) if isinstance(node, Call) and node.op == "add")
    widened = total.args[0]
    assert isinstance(widened, Call)
    assert widened.op == "cast"
    assert tensor_type_of(widened.args[0]).dtype == "bfloat16"


def test_an_input_is_read_as_it_is_by_all_but_products() -> None:
    after = mixed(make("add", x, dense(make("nn.gelu", dense(x)))))

    (total,) = (node for node in postorder(after.main.body) if isinstance(node, Call) and node.op == "add")
    assert total.args[0] is x


def test_values_are_moved_about_in_16_bits_before_products_and_behind_rounded_ones() -> None:
    relu = make("nn.relu", dense(x))
    turned = make("transpose", make("reshape", relu, newshape=(3, -1, 4, 4)), axes=(0, 1, 3, 2))
    back = make("reshape", turned, newshape=(3, -1, 16))
    after = mixed(Tuple((dense(back), make("exp", make("transpose", relu, axes=(1, 0, 2))))))

    assert [kind for op, kind in dtypes(after) if op in ("reshape", "transpose")] == ["bfloat16"] * 4
    assert {kind for op, kind in dtypes(after) if op in ("nn.relu", "exp")} == {"float32"}
    assert sum(op == "cast" and kind == "float32" for op, kind in dtypes(after)) == 4


def test_a_pool_is_narrow_between_convolutions() -> None:
    image = var("x", (1, 3, 9, 9))
    first = make("nn.relu", make("nn.conv2d", image, const(8, 3, 3, 3)))
    pooled = make("nn.max_pool2d", first, pool_size=2)
    module = Module({"main": Function((image,), make("nn.conv2d", pooled, const(4, 8, 1, 1)))})

    assert ("nn.max_pool2d", "bfloat16") in dtypes(to_mixed_precision()(module))


def test_masks_of_attention_stay_wide() -> None:
    query = make("reshape", x, newshape=(3, 2, -1, 8))
    mask = constant(np.float32(-3e38))
    after = mixed(make("nn.attention", query, query, query, mask, scale=0.5))

    (attention,) = (n for n in postorder(after.main.body) if isinstance(n, Call) and n.op == "nn.attention")
    assert attention.args[3] is mask
    assert tensor_type_of(attention.args[0]).dtype == "bfloat16"
    assert attention["out_dtype"] == "float32"


def test_tuples_are_narrow_or_wide_field_by_field() -> None:
    halves = make("split", dense(x), indices_or_sections=2, axis=-1)
    joined = make("concatenate", Tuple((TupleGetItem(halves, 1), TupleGetItem(halves, 0))), axis=-1)
    other = make("concatenate", Tuple((dense(x), make("exp", x))), axis=-1)

    after = mixed(Tuple((dense(joined), make("tanh", other), make("exp", TupleGetItem(halves, 0)))))

    assert ("split", "bfloat16") in dtypes(after)
    assert ("tanh", "float32") in dtypes(after)


def test_one_cast_serves_all_readers() -> None:
    after = mixed(make("add", dense(x), dense(x)))

    assert sum(op == "cast" and kind == "float32" for op, kind in dtypes(after)) == 3


@pytest.mark.parametrize("target", [None, WITHOUT])
def test_what_has_no_product_is_the_same_object(target: Target | None) -> None:
    module = Module({"main": Function((x,), make("nn.softmax", make("nn.relu", x)))})

    assert to_mixed_precision("bfloat16", target=target)(module) is module


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_without_arithmetic_of_16_bits_what_is_rounded_is_stored_as_float32(dtype: str) -> None:
    first, second = const(16, 16), const(4, 16)
    after = mixed(
        make("nn.dense", make("nn.relu", make("nn.dense", x, first)), second), dtype, target=WITHOUT
    )

    def rounded(value: Expr) -> Expr:
        return cast(cast(value, dtype), "float32")

    sums = make("nn.dense", rounded(x), rounded(first), out_dtype="float32")
    expected = make("nn.dense", rounded(make("nn.relu", sums)), rounded(second), out_dtype="float32")
    assert alike(after.main.body, expected)


def test_stored_as_float32_values_are_moved_about_so_and_are_the_same_values() -> None:
    relu = make("nn.relu", dense(x))
    halves = make("split", make("reshape", relu, newshape=(-1, 16)), indices_or_sections=2, axis=-1)
    joined = make("concatenate", Tuple((TupleGetItem(halves, 1), TupleGetItem(halves, 0))), axis=-1)
    body = Tuple((dense(joined), make("add", relu, dense(relu)), make("exp", TupleGetItem(halves, 0))))

    narrow, wide = mixed(body), mixed(body, target=WITHOUT)

    assert {kind for op, kind in dtypes(wide) if op != "cast"} == {"float32"}
    data = rng.standard_normal((3, 5, 16)).astype("float32")
    pairs = zip(interpret(narrow, [data]), interpret(wide, [data]), strict=True)
    for wanted, made in pairs:
        np.testing.assert_allclose(made, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", ["c", *(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}" for cpu in WITH)])
def test_with_such_arithmetic_and_in_c_halves_are_stored(target: str) -> None:
    assert has_16_bit_products(Target.parse(target))
    module = Module({"main": Function((x,), dense(make("nn.relu", dense(x))))})

    body = to_mixed_precision(target=Target.parse(target))(module).main.body
    assert alike(body, to_mixed_precision()(module).main.body)


@pytest.mark.parametrize("cpu", ["znver3", "znver5", "sapphirerapids"])
def test_convolutions_go_by_winograds_of_float32_but_where_tiles_multiply(cpu: str) -> None:
    image = var("x", (1, 64, 28, 28))
    module = Module({"main": Function((image,), make("nn.conv2d", image, const(64, 64, 3, 3), padding=1))})
    target = Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    body = pipeline(3, target, "bfloat16").run(module).main.body

    inside = {node.op for node in postorder(body) if isinstance(node, Call)}
    inside |= {
        node.op
        for group in inside
        if isinstance(group, Function)
        for node in postorder(group.body)
        if isinstance(node, Call)
    }
    assert (winograd.CONVOLUTION in inside) == (cpu != "sapphirerapids")


def test_a_mixed_model_can_be_verified() -> None:
    module = Module({"main": Function((x,), make("nn.relu", dense(make("nn.relu", dense(x)))))})

    compile(module, precision="bfloat16", verify=True)


@pytest.mark.parametrize(("level", "op"), [(1, "nn.gelu"), (2, "fast_erf")])
def test_errors_below_those_of_16_bits_are_allowed_from_level_2_on(level: int, op: str) -> None:
    module = Module({"main": Function((x,), dense(make("nn.gelu", dense(x))))})
    body = pipeline(level, precision="bfloat16").run(module).main.body
    groups = [
        node.op.body for node in postorder(body) if isinstance(node, Call) and isinstance(node.op, Function)
    ]

    inside = {node.op for one in groups for node in postorder(one) if isinstance(node, Call)}
    assert op in inside


def test_other_precisions_are_refused() -> None:
    with pytest.raises(ConfigError, match="precision is 'int8', expected 'bfloat16' or 'float16'"):
        to_mixed_precision("int8")
    with pytest.raises(ConfigError, match="precision is 'float64'"):
        compile(Module({"main": Function((x,), dense(x))}), precision="float64")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64-v3", "llvm -mcpu=znver4", "c"])
@pytest.mark.parametrize("units", [10, 16, 37])
def test_compiled_it_is_as_near(target: str, units: int) -> None:
    body = make("nn.softmax", dense(make("nn.relu", make("add", dense(x), const(16))), units))
    module = Module({"main": Function((x,), body)})
    data = rng.standard_normal((3, 7, 16)).astype("float32")
    lib = compile(module, target, precision="bfloat16")
    wanted = interpret(module, [data])

    if reason := process.reason_not_to_run(Target.parse(target)):
        pytest.skip(f"compiled, not run: {reason}")
    assert np.abs(lib(data) - wanted).max() <= 3e-2 * wanted.max()


def test_open_sizes_take_pairs_too() -> None:
    image = var("x", (1, 16, "h", "w"))
    wide = make("nn.relu", make("nn.conv2d", image, const(256, 16, 1, 1)))
    module = Module({"main": Function((image,), make("nn.conv2d", wide, const(8, 256, 3, 3), padding=1))})
    data = rng.standard_normal((1, 16, 3, 5)).astype("float32")
    wanted = interpret(module, [data])

    assert np.abs(compile(module, precision="bfloat16")(data) - wanted).max() <= 2e-2 * np.abs(wanted).max()
