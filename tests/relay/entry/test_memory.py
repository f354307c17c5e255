import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.relay.entry.memory import MemoryPlan, slots_of
from tvmlite.relay.entry.memory import plan as plan_blocks
from tvmlite.relay.ir.blocks import order
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Expr, Function, Let, Module, Tuple, TupleGetItem, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TupleType, evaluate_dim, evaluate_shape
from tvmlite.relay.passes.fusion.fuse import fuse

pytestmark = pytest.mark.usefixtures("toys")

x = var("x", (4, 64))


def opaque(value: Expr) -> Expr:
    return make("test.opaque", value)


def plan(function: Function) -> MemoryPlan:
    """Return the plan, which leaves out the results of the last step."""
    root = order(function)
    return plan_blocks(root, set(slots_of(function.body)))


def occupied(function: Function, binding) -> list[tuple[int, int, int, int]]:
    """Return (first, last, low, high) of every planned value, recomputed step by step from the calls."""
    calls = [n for n in postorder(function.body) if isinstance(n, Call)]
    made = plan(function)
    rows = []
    for (call, index), offset in made.offsets.items():
        type_ = type_of(call)
        type_ = type_.fields[index] if isinstance(type_, TupleType) else type_
        elements = 1
        for extent in evaluate_shape(type_.shape, binding):
            elements *= extent
        low = evaluate_dim(offset, binding)
        readers = [t for t, other in enumerate(calls) if any(reads(a, call, index) for a in other.args)]
        first = calls.index(call)
        rows.append((first, max(readers, default=first), low, low + elements * dtypes.bytes_of(type_.dtype)))
        assert low % 64 == 0
        assert rows[-1][3] <= evaluate_dim(made.size, binding)
    return rows


def reads(value: Expr, call: Call, index: int) -> bool:
    if isinstance(value, TupleGetItem):
        if isinstance(value.value, Tuple):
            return reads(value.value.fields[value.index], call, index)
        return value.value is call and value.index == index
    if isinstance(value, Tuple):
        return any(reads(field, call, index) for field in value.fields)
    return value is call


def check_disjoint(rows) -> None:
    for i, (first, last, low, high) in enumerate(rows):
        for other_first, other_last, other_low, other_high in rows[:i]:
            if first <= other_last and other_first <= last:
                assert high <= other_low or other_high <= low


@pytest.mark.parametrize("seed", range(20))
def test_live_values_do_not_overlap(random_graph, seed: int) -> None:
    main = fuse(random_graph(seed, nodes=40, shape=(3, 5))).main
    rows = occupied(main, {})

    check_disjoint(rows)
    if len(rows) > 3:
        assert plan(main).size < sum(-(-(high - low) // 64) * 64 for _, _, low, high in rows)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("h", [1, 7, 40])
def test_live_values_do_not_overlap_at_any_size(random_graph, seed: int, h: int) -> None:
    from tvmlite.relay.ir.types import dim

    main = fuse(random_graph(seed, nodes=30, shape=("h", 5))).main

    check_disjoint(occupied(main, {dim("h"): h}))


def test_a_chain_needs_two_buffers() -> None:
    value: Expr = x
    for _ in range(10):
        value = opaque(value)

    assert plan(Function((x,), value)).size == 2 * 4 * 64 * 4


def test_symbolic_sizes_share_buffers() -> None:
    from tvmlite.relay.ir.types import dim

    h = dim("h")
    p = var("p", ("h", 8))
    value: Expr = p
    for _ in range(6):
        value = opaque(make("test.concatenate", Tuple((value,))))
    size = plan(Function((p,), value)).size

    assert evaluate_dim(size, {h: 64}) == 2 * 64 * 8 * 4


def test_parameters_and_results_are_not_in_the_plan() -> None:
    middle = opaque(x)
    made = plan(Function((x,), Tuple((opaque(middle), x))))

    assert list(made.offsets) == [(middle, 0)]
    assert plan(Function((x,), x)).size == 0


def test_each_tuple_field_has_a_buffer_even_if_never_read() -> None:
    pair = make("test.split", x)
    made = plan(Function((x,), opaque(TupleGetItem(pair, 1))))

    assert set(made.offsets) == {(pair, 0), (pair, 1)}
    assert made.offsets[pair, 0] != made.offsets[pair, 1]


def test_a_let_cannot_be_planned() -> None:
    y = var("y", (4, 64))
    with pytest.raises(UnsupportedError, match="a Let in a graph to plan"):
        plan(Module({"main": Function((x,), Let(y, opaque(x), y))}).main)
