"""Results of kernels overwrite operands that nothing reads later."""

import numpy as np
import onnx.parser
import pytest

import tvmlite
from tvmlite.core.errors import VerifyError
from tvmlite.core.node import postorder
from tvmlite.core.pipeline import Pipeline
from tvmlite.relay import passes
from tvmlite.relay.entry.memory import MemoryPlan, in_place, plan, slots_of
from tvmlite.relay.ir.blocks import order
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, TupleGetItem, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import evaluate_dim
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.onnx import from_onnx
from tvmlite.relay.passes.fusion.fuse import separate
from tvmlite.relay.passes.fusion.hoist_views import hoist_views
from tvmlite.relay.passes.fusion.materialize_outputs import materialize_outputs
from tvmlite.relay.passes.fusion.reuse_operands import reuse_operands
from tvmlite.relay.text.parser import parse
from tvmlite.relay.text.printer import show

SHAPE = (4, 64)
BYTES = 4 * 64 * 4
x, y = var("x", SHAPE), var("y", SHAPE)


def grouped(*results: Expr) -> Module:
    """Return a module of ``x`` and ``y`` with a kernel per operator, not yet reusing operands."""
    body = results[0] if len(results) == 1 else Tuple(results)
    return hoist_views(separate(Module({"main": Function((x, y), body)})))


def marks(module: Module) -> list[tuple[str, int]]:
    """Return the marked groups: their last operator and the mark."""
    calls = [n for n in postorder(module.main.body) if isinstance(n, Call) and isinstance(n.op, Function)]
    found = [(call.op.body, in_place(call)) for call in calls]
    return [(body.op, mark) for body, mark in found if mark is not None]


def planned(module: Module) -> MemoryPlan:
    return plan(order(module.main), set(slots_of(module.main.body)))


def softmax(value: Expr) -> Expr:
    return make("nn.softmax", value)


def test_a_sum_overwrites_its_first_operand() -> None:
    before = grouped(softmax(make("add", softmax(x), y)))
    after = reuse_operands(before)

    assert marks(after) == [("add", 0)]
    assert planned(before).size == 2 * BYTES
    assert planned(after).size == BYTES
    assert set(planned(after).offsets.values()) == {0}
    assert reuse_operands(after) is after
    assert parse(show(after)).main.body.args[0].op.attrs == after.main.body.args[0].op.attrs  # type: ignore[union-attr]


def test_a_chain_needs_one_buffer() -> None:
    value = softmax(x)
    for _ in range(6):
        value = make("nn.relu", make("add", value, y))
    after = reuse_operands(grouped(softmax(value)))

    assert planned(after).size == BYTES
    assert len(marks(after)) == 12


def test_a_residual_sum_overwrites_its_branch() -> None:
    skip = softmax(x)
    branch = softmax(make("negative", skip))
    after = reuse_operands(grouped(softmax(make("add", branch, skip))))

    assert marks(after) == [("add", 0)]


def test_the_epilogue_of_a_matrix_product_overwrites_its_operand() -> None:
    weight = constant(np.ones((64, 64), "float32"))
    skip = softmax(x)
    body = softmax(make("nn.relu", make("add", make("nn.dense", skip, weight), softmax(y))))
    after = reuse_operands(passes.fuse(Module({"main": Function((x, y), body)})))

    assert marks(after) == [("nn.relu", 2)]


def test_an_operand_read_twice_may_be_overwritten() -> None:
    middle = softmax(x)

    assert marks(reuse_operands(grouped(softmax(make("add", middle, middle))))) == [("add", 0)]


def test_operands_of_symbolic_sizes_are_overwritten() -> None:
    p = var("p", ("n", 64))
    before = separate(Module({"main": Function((p,), softmax(make("nn.relu", softmax(p))))}))
    after = reuse_operands(before)
    (n,) = [d for d in p.type.shape if not isinstance(d, int)]

    assert evaluate_dim(planned(before).size, {n: 8}) == 2 * 8 * 64 * 4
    assert evaluate_dim(planned(after).size, {n: 8}) == 8 * 64 * 4


def test_an_operand_read_through_a_view_is_overwritten() -> None:
    flat = make("reshape", softmax(x), newshape=(-1,))

    assert marks(reuse_operands(grouped(softmax(make("nn.relu", flat))))) == [("nn.relu", 0)]


shared = softmax(x)
flat = make("reshape", shared, newshape=(-1,))
halves = make("split", shared, indices_or_sections=2)
row = make("sum", softmax(x), axis=(1,), keepdims=True)


@pytest.mark.parametrize(
    "results",
    [
        pytest.param((softmax(make("nn.relu", x)),), id="a parameter"),
        pytest.param((softmax(make("nn.relu", constant(np.ones(SHAPE, "float32")))),), id="a constant"),
        pytest.param((make("nn.relu", softmax(x)),), id="the result is the model's"),
        pytest.param((softmax(make("nn.relu", shared)), shared), id="the operand is a result"),
        pytest.param((softmax(make("nn.relu", shared)), softmax(shared)), id="read later"),
        pytest.param(
            (softmax(make("nn.relu", shared)), make("reshape", shared, newshape=(-1,))),
            id="a view is a result",
        ),
        pytest.param((softmax(make("sum", shared, axis=(1,), keepdims=True)),), id="reduced"),
        pytest.param(
            (softmax(make("add", shared, make("reshape", flat, newshape=SHAPE))),),
            id="read as a view as well",
        ),
        pytest.param((softmax(make("add", row, y)),), id="broadcast"),
        pytest.param((softmax(make("cast", softmax(x), dtype="float64")),), id="another dtype"),
        pytest.param((softmax(make("transpose", softmax(x), axes=(1, 0))),), id="transposed"),
        pytest.param((softmax(softmax(x)),), id="several passes"),
        pytest.param((softmax(TupleGetItem(halves, 0)),), id="split"),
    ],
)
def test_other_operands_are_not_overwritten(results: tuple[Expr, ...]) -> None:
    before = grouped(*results)

    assert reuse_operands(before) is before


def test_an_invalid_mark_is_an_error_and_is_corrected_by_the_pass() -> None:
    text = show(reuse_operands(grouped(softmax(make("add", softmax(x), y)))))
    wrong = parse(text.replace("in_place=0", "in_place=1"))

    with pytest.raises(VerifyError, match="in_place=1 of a group: argument 1 is no intermediate value"):
        planned(wrong)
    assert marks(reuse_operands(wrong)) == [("add", 0)]


def random_elementwise(seed: int, shape: tuple[int | str, ...], nodes: int = 24) -> Module:
    """Return sums, products and unary functions of earlier values, of rows and columns: several results."""
    rng = np.random.default_rng(seed)
    a, b = var("a", shape), var("b", shape)
    column, line = var("column", (shape[0], 1)), var("line", (shape[1],))
    values: list[Expr] = [a, b]
    for _ in range(nodes):
        one = values[-1 - int(rng.integers(min(4, len(values))))]
        other = [values[-1], column, line, values[int(rng.integers(len(values)))]][int(rng.integers(4))]
        kind = int(rng.integers(6))
        if kind < 3:
            values.append(make(["add", "subtract", "maximum"][kind], one, other))
        else:
            values.append(make(["nn.relu", "sigmoid", "tanh"][kind - 3], one))
    results = (make("tanh", values[-1]), make("nn.relu", values[len(values) // 2]))
    return Module({"main": Function((a, b, column, line), Tuple(results))})


def one_kernel_an_operator(*_: object) -> Pipeline[Module]:
    before = [passes.infer_types, passes.fold_constant, materialize_outputs]
    return Pipeline([*before, separate, hoist_views, reuse_operands], verify)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize(
    ("seed", "shape"),
    [(0, (130, 513)), (1, (64, 2048)), (2, (3, 5)), (3, ("n", 129)), (4, ("n", "m"))],
)
def test_random_elementwise_graphs_keep_their_results(
    monkeypatch: pytest.MonkeyPatch, threads: None, seed: int, shape: tuple[int | str, ...], target: str
) -> None:
    module = random_elementwise(seed, shape)
    n, m = ({"n": 77, "m": 1000}.get(extent, extent) for extent in shape)
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(s).astype("float32") for s in ((n, m), (n, m), (n, 1), (m,))]
    monkeypatch.setattr(passes, "pipeline", one_kernel_an_operator)
    assert len(marks(one_kernel_an_operator().run(module))) >= 5

    lib = tvmlite.compile(module, target)

    for count in (1, 2):
        tvmlite.runtime.set_num_threads(count)
        for got, wanted in zip(lib(*arrays), interpret(module, arrays), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


LOOPS = """
g (float[N, 8] x, bool go) => (float[N, 8] last, float[M, 8] found) {
    count = Constant <value_int = 5> ()
    last = Loop (count, go, x) <body = turn (int64 i, bool on, float[N, 8] state)
            => (bool more, float[N, 8] next) {
        a = Softmax (state)
        b = Relu (a)
        c = Add (b, state)
        d = Sigmoid (c)
        next = Softmax (d)
        more = Identity (on)
    }>
    axis = Constant <value_ints = [1]> ()
    sums = ReduceSum <keepdims = 0> (x, axis)
    zero = Constant <value_float = 0.0> ()
    positive = Greater (sums, zero)
    rows = Compress <axis = 0> (x, positive)
    e = Softmax (rows)
    f = Relu (e)
    h = Add (f, rows)
    found = Softmax (h)
}
"""


@pytest.mark.parametrize("target", ["native", "c"])
def test_operands_are_overwritten_in_loops_and_with_data_dependent_extents(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    header = '<ir_version: 8, opset_import: ["" : 18]>'
    module = from_onnx(onnx.parser.parse_model(header + LOOPS))
    monkeypatch.setattr(passes, "pipeline", one_kernel_an_operator)
    assert {"nn.relu", "add", "sigmoid"} <= {name for name, _ in marks(one_kernel_an_operator().run(module))}

    lib = tvmlite.compile(module, target)

    for count in (7, 30):
        arrays = [np.random.default_rng(0).standard_normal((count, 8)).astype("float32"), np.array(True)]
        for got, wanted in zip(lib(*arrays), interpret(module, arrays), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("batch", [1, "n"])
def test_residual_networks_keep_their_results(threads: None, batch: int | str, target: str) -> None:
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> Expr:
        return constant((rng.standard_normal(shape) / 12).astype("float32"))

    p = var("p", (batch, 32, 19, 21))
    value: Expr = make("nn.conv2d", p, weight(32, 32, 1, 1))
    for size in (1, 3, 1):
        made = make("nn.relu", make("nn.conv2d", value, weight(32, 32, 3, 3), padding=(1, 1, 1, 1)))
        made = make("nn.conv2d", made, weight(32, 32, size, size), padding=(size // 2,) * 4)
        value = make("nn.relu", make("add", made, value))
    flat = make("reshape", make("nn.global_avg_pool2d", value), newshape=(-1, 32))
    for _ in range(2):
        hidden = make("tanh", make("nn.dense", flat, weight(48, 32)))
        flat = make("add", make("nn.dense", hidden, weight(32, 48)), flat)
    module = Module({"main": Function((p,), make("nn.softmax", flat))})
    data = rng.standard_normal((1 if batch == 1 else 3, 32, 19, 21)).astype("float32")

    lib = tvmlite.compile(module, target)

    for count in (1, 2):
        tvmlite.runtime.set_num_threads(count)
        np.testing.assert_allclose(lib(data), interpret(module, [data]), rtol=1e-4, atol=1e-5)
