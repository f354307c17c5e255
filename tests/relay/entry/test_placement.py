"""Places of values in one block of memory, and the order of steps, against all there are."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.machine.target import Target
from tvmlite.relay.entry.memory import IN_PLACE, SCRATCH, bytes_of, in_place, plan, slots_of
from tvmlite.relay.entry.placement import MemoryPolicy, peak_memory, place, place_tightly
from tvmlite.relay.entry.step_order import reordered
from tvmlite.relay.ir.blocks import Run, order
from tvmlite.relay.ir.nodes import Call, Function, Module
from tvmlite.relay.passes import pipeline
from tvmlite.relay.passes.fusion.reuse_operands import is_read_elementwise
from tvmlite.techniques.scalar_loops.in_place import convolves_in_place

MARGIN = 1.05
"""How much more than the best plan there is ours may need."""

COMPACT = MemoryPolicy(alignment=8, compact=True)


def overlaps(lives: Sequence[tuple[int, int]], sizes: Sequence[int], offsets: Sequence[int]) -> bool:
    """Whether two values that are alive at once share a byte."""
    for i, j in itertools.combinations(range(len(sizes)), 2):
        at_once = lives[i][0] <= lives[j][1] and lives[j][0] <= lives[i][1]
        apart = offsets[i] + sizes[i] <= offsets[j] or offsets[j] + sizes[j] <= offsets[i]
        if at_once and not apart:
            return True
    return False


def best_room(lives: Sequence[tuple[int, int]], sizes: Sequence[int]) -> int:
    """The least room of any placement: some order, each value as low as it goes, gives it."""
    return min(room_of(lives, sizes, one) for one in itertools.permutations(range(len(sizes))))


def room_of(lives: Sequence[tuple[int, int]], sizes: Sequence[int], order: Sequence[int]) -> int:
    """The room if values are placed in ``order``, each as low as it goes, byte by byte of the alignment."""
    begins: dict[int, int] = {}
    for i in order:
        others = [
            (begins[j], begins[j] + sizes[j])
            for j in begins
            if lives[i][0] <= lives[j][1] and lives[j][0] <= lives[i][1]
        ]
        begin = 0
        while any(begin < high and low < begin + sizes[i] for low, high in others):
            begin += 8
        begins[i] = begin
    return max(begins[i] + sizes[i] for i in order)


@pytest.mark.parametrize("seed", range(40))
def test_places_are_near_the_best_of_all(seed: int) -> None:
    draw = random.Random(seed)
    lives = [(a := draw.randrange(8), a + draw.randrange(4)) for _ in range(6)]
    sizes = [8 * draw.randrange(1, 30) for _ in lives]

    offsets, room = place_tightly(lives, sizes)

    assert not overlaps(lives, sizes, offsets)
    assert room == max(o + s for o, s in zip(offsets, sizes, strict=True))
    assert peak_memory(lives, sizes) <= room <= MARGIN * best_room(lives, sizes)


def test_searching_finds_what_largest_first_does_not() -> None:
    """Six of these forty need more room when the largest is placed first."""
    worse = 0
    for seed in range(40):
        draw = random.Random(seed)
        lives = [(a := draw.randrange(8), a + draw.randrange(4)) for _ in range(8)]
        sizes = [8 * draw.randrange(1, 30) for _ in lives]
        worse += place(lives, sizes)[1] > place_tightly(lives, sizes)[1]

    assert worse > 0


def test_nothing_needs_no_room() -> None:
    assert place_tightly([], []) == ([], 0)


def branching(seed: int) -> Module:
    """Branches of a stem that widen and narrow, so that their order decides what is alive at once."""
    draw = np.random.default_rng(seed)
    x = relay.var("x", shape=(1, 4, 4, 4))

    def channels(value: relay.Expr, before: int, after: int) -> relay.Expr:
        return relay.nn.conv2d(
            value, relay.const(draw.standard_normal((after, before, 1, 1)).astype("float32"))
        )

    stem = channels(x, 4, 8)
    ends = []
    for _ in range(2):
        wide, narrow = (int(n) for n in draw.choice((4, 8, 16, 32), 2))
        ends.append(relay.sum(channels(channels(stem, 8, wide), wide, narrow), axis=1))
    ends.append(relay.sum(channels(stem, 8, int(draw.choice((2, 12)))), axis=1))
    parts = [ends[k] for k in draw.permutation(3)]
    return Module.from_expr(relay.Function((x,), relay.nn.softmax(relay.concatenate(parts, axis=0))))


def fused(module: Module) -> Module:
    return pipeline(3, tvmlite.Target.parse("c -system=none")).run(module.unnamed())


def all_orders(calls: Sequence[Call]) -> Iterator[tuple[Call, ...]]:
    """``calls`` in every order in which values are made before they are read."""
    needs = {call: {slot[0] for arg in call.args for slot in slots_of(arg)} & set(calls) for call in calls}

    def onwards(done: tuple[Call, ...]) -> Iterator[tuple[Call, ...]]:
        if len(done) == len(calls):
            yield done
        for call in calls:
            if call not in done and needs[call] <= set(done):
                yield from onwards((*done, call))

    return onwards(())


def alive_at_once(calls: Sequence[Call], result: relay.Expr, scratch: Mapping[Call, int]) -> int:
    """The most bytes that values and scratch memory take at one step: no plan of this order needs less."""
    owner: dict[relay.Expr, relay.Expr] = {call: call for call in calls}
    for call in calls:
        if (position := in_place(call)) is not None:
            owner[call] = owner[slots_of(call.args[position])[0][0]]
    read = {
        call: [owner[s[0]] for arg in call.args for s in slots_of(arg) if s[0] in owner] for call in calls
    }
    size: dict[relay.Expr, int] = {call: sum(bytes_of(call, 8).values()) for call in calls}
    most = 0
    for now, call in enumerate(calls):
        made = {owner[one] for one in calls[: now + 1]}
        later = {one for other in calls[now:] for one in (*read[other], owner[other])}
        alive = (made & later) | {owner[call]} | ({owner[result]} & made if result in owner else set())
        most = max(most, sum(size[one] for one in alive) + scratch.get(call, 0))
    return most


@pytest.mark.parametrize("seed", range(8))
def test_the_arena_is_near_what_the_best_order_needs(seed: int) -> None:
    root = order(fused(branching(seed)).main)
    calls = [step.call for step in root.steps if isinstance(step, Run)]
    draw = random.Random(seed)
    scratch = {call: 8 * draw.randrange(100) for call in calls}

    made = plan(reordered(root, scratch, 8), (), COMPACT, scratch).size

    orders = list(all_orders(calls))
    assert len(orders) > 100
    assert made <= MARGIN * min(alive_at_once(one, root.result, scratch) for one in orders)


def tangled(seed: int) -> Module:
    """Convolutions that can be made over their data, and sums and others that cannot, of what there is."""
    draw = np.random.default_rng(seed)

    def convolved(value: relay.Expr, before: int, after: int, window: int, groups: int = 1) -> relay.Expr:
        kernel = draw.standard_normal((after, before // groups, window, window)).astype("float32")
        return relay.nn.conv2d(value, relay.const(kernel), padding=(window // 2,) * 2, groups=groups)

    x = relay.var("x", shape=(1, 4, 4, 4))
    values = [(convolved(x, 4, 8, 1), 8)]
    for _ in range(int(draw.integers(3, 6))):
        value, channels = values[int(draw.integers(len(values)))]
        alike = [one for one, n in values if n == channels]
        match int(draw.integers(4)):
            case 0:
                total = relay.add(value, alike[int(draw.integers(len(alike)))])
                values.append((relay.nn.max_pool2d(total, (3, 3), (1, 1), padding=(1, 1)), channels))
            case 1:
                values.append((convolved(value, channels, channels, 1), channels))
            case 2:
                values.append((convolved(value, channels, channels, 3, channels), channels))
            case _:
                wanted = int(draw.choice((4, 8, 16, 32)))
                values.append((convolved(value, channels, wanted, 3), wanted))
    ends = [relay.sum(value, axis=1) for value, _ in values[-4:]]
    return Module.from_expr(relay.Function((x,), relay.nn.softmax(relay.concatenate(ends, axis=0))))


def least_alive(calls: Sequence[Call], result: relay.Expr, scalar: Target) -> int:
    """The least of the most that is alive at a step, of all orders, where each result takes the place of an
    operand whenever its kernel can and nothing else reads that any more."""
    size = {call: 0 if call is result else sum(bytes_of(call, 8).values()) for call in calls}
    args = {call: [s[0] for arg in call.args for s in slots_of(arg) if s[0] in size] for call in calls}
    number = {call: k for k, call in enumerate(calls)}
    readers = {one: sum(1 << number[c] for c in calls if one in args[c]) for one in calls}
    can_take: dict[Call, list[Call]] = {call: [] for call in calls}
    for call in calls:
        group = call.op
        assert isinstance(group, Function)
        bare = replace(group, attrs=tuple(one for one in group.attrs if one[0] != IN_PLACE))
        for position, arg in enumerate(call.args):
            slots = [slot[0] for slot in slots_of(arg)]
            able = is_read_elementwise(bare, position) or convolves_in_place(bare, position, scalar)
            if len(slots) == 1 and slots[0] in size and call is not result and able:
                can_take[call].append(slots[0])  # type: ignore[arg-type]

    @functools.cache
    def onwards(done: int) -> int:
        if done == (1 << len(calls)) - 1:
            return 0
        alive = sum(size[c] for c in calls if done >> number[c] & 1 and readers[c] & ~done)
        found = []
        for call in calls:
            now = done | 1 << number[call]
            if now == done or any(not done >> number[one] & 1 for one in args[call]):  # type: ignore[index]
                continue
            takes = any(readers[one] & ~now == 0 and args[call].count(one) == 1 for one in can_take[call])
            found.append(max(alive + size[call] * (not takes), onwards(now)))
        return min(found)

    return onwards(0)


@pytest.mark.parametrize("seed", range(24))
def test_results_lie_over_operands_in_an_order_that_lets_them(seed: int) -> None:
    scalar = Target.parse("c -system=none")
    main = fused(tangled(seed)).main
    calls = [step.call for step in order(main).steps if isinstance(step, Run)]

    made = plan(reordered(order(main), {}, 8), {(main.body, 0)}, COMPACT).size

    least = least_alive(calls, main.body, scalar)
    assert isinstance(made, int)
    assert least <= made <= MARGIN * least


def test_another_order_is_taken_where_it_needs_less() -> None:
    gained = 0
    for seed in range(12):
        root = order(fused(branching(seed)).main)
        again = reordered(root, {}, 8)
        assert set(again.steps) == set(root.steps)
        gained += again is not root

    assert gained > 0


def test_a_chain_keeps_its_order() -> None:
    x = relay.var("x", shape=(8, 8))
    y = relay.nn.softmax(relay.nn.dense(relay.nn.softmax(x), relay.const(np.ones((8, 8), "float32"))))
    root = order(fused(Module.from_expr(relay.Function((x,), y))).main)

    assert reordered(root, {}, 8) is root


def test_scratch_memory_lies_beside_what_is_alive() -> None:
    """The scratch of a call that comes when little is alive takes no memory of its own."""
    x = relay.var("x", shape=(64,))
    wide = relay.nn.dense(relay.reshape(x, (1, 64)), relay.const(np.ones((256, 64), "float32")))
    narrow = relay.nn.dense(wide, relay.const(np.ones((8, 256), "float32")))
    y = relay.nn.softmax(relay.nn.dense(narrow, relay.const(np.ones((8, 8), "float32"))))
    root = order(fused(Module.from_expr(relay.Function((x,), y))).main)
    calls = [step.call for step in root.steps if isinstance(step, Run)]
    last: Call = calls[-1]

    made = plan(root, (), COMPACT, {last: 800})

    assert made.size == 4 * (256 + 8)
    offset = made.offsets[last, SCRATCH]
    assert isinstance(offset, int)
    assert offset + 800 <= made.size
