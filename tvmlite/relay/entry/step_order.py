"""Find an order of a graph's steps with the least peak memory.

Where a graph branches, the order in which its steps run determines how many values are alive. For small
graphs the search is exhaustive; for larger ones it is a beam search limited by ``MOST_STATES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tvmlite.relay.entry.memory import Slot, bytes_of, in_place, slots_of
from tvmlite.relay.ir.blocks import Block, Run
from tvmlite.relay.ir.nodes import Call

MOST_STATES = 400_000
"""The total number of sets of steps that are examined: for n steps, at most 1/n of them at each step."""


@dataclass(frozen=True)
class _Step:
    """A step: the bytes of its results (``produced_bytes``) and of its scratch memory, the numbers of the
    values that may die with it (``reads``), and, as bits, the steps that must come before it (``after``). Its
    result may be stored over one of the values ``overwrites`` if that dies with it."""

    produced_bytes: int
    scratch: int
    reads: tuple[int, ...]
    after: int
    overwrites: tuple[int, ...] = ()


@dataclass(frozen=True)
class _State:
    """The bytes alive after some steps, the peak so far, and the steps in order."""

    alive: int
    peak: int
    order: tuple[int, ...]


def reordered(
    root: Block,
    scratch: Mapping[Call, int],
    alignment: int,
    can_overwrite: Callable[[Call, int], bool] | None = None,
) -> Block:
    """``root`` with its steps in an order with the least peak memory; ``root`` itself if it holds anything
    but calls, or nothing is gained. ``scratch`` is the memory in bytes that calls need while they run.

    A result that is computed ``in_place`` comes after all other readers of that argument. If
    ``can_overwrite`` is given, such results are not chosen yet: it says whether a call's result could be
    stored over an argument, and the order is one with a low peak if all results that could are.
    """
    runs = [step for step in root.steps if isinstance(step, Run)]
    if len(runs) != len(root.steps) or len(runs) < 2:
        return root
    graph = _Graph(root, runs, scratch, alignment, can_overwrite)
    given = tuple(range(len(runs)))
    best = graph.search()
    if graph.is_possible(given) and graph.peak(given) <= best.peak:
        return root
    return replace(root, steps=[runs[k] for k in best.order])


class _Graph:
    """The steps of a block by number, and the sizes of the values between them."""

    def __init__(
        self,
        root: Block,
        runs: Sequence[Run],
        scratch: Mapping[Call, int],
        alignment: int,
        can_overwrite: Callable[[Call, int], bool] | None = None,
    ) -> None:
        number = {run.call: k for k, run in enumerate(runs)}
        results = {slot for slot in slots_of(root.result) if slot[0] in number}
        sizes: dict[Slot, int] = {}
        owner: dict[Slot, Slot] = {}
        for run in runs:
            for slot, size in bytes_of(run.call, alignment).items():
                sizes[slot], owner[slot] = (0 if slot in results else size), slot
        self.steps: list[_Step] = []
        self.readers: list[int] = []
        self.sizes: list[int] = []
        index: dict[Slot, int] = {}
        reads = [[s for arg in run.call.args for s in slots_of(arg) if s[0] in number] for run in runs]
        for run in runs:
            position = in_place(run.call) if can_overwrite is None else None
            if position is not None and (run.call, 0) not in results:
                (given,) = slots_of(run.call.args[position])
                owner[run.call, 0] = owner.get(given, (run.call, 0))
        for slot, first in owner.items():
            if first == slot:
                index[slot] = len(self.sizes)
                self.sizes.append(sizes[slot])
                self.readers.append(0)
        for k, run in enumerate(runs):
            made = [slot for slot in owner if slot[0] is run.call]
            produced = [index[slot] for slot in made if owner[slot] == slot]
            read = sorted({index[owner[slot]] for slot in reads[k]})
            for value in {*read, *(index[owner[slot]] for slot in made)}:
                self.readers[value] |= 1 << k
            after = 0
            for slot in reads[k]:
                after |= 1 << number[slot[0]]  # type: ignore[index]
            produced_bytes, overwrites = sum(self.sizes[v] for v in produced), ()
            if can_overwrite is not None and (run.call, 0) not in results:
                overwrites = _overwritable(run.call, can_overwrite, index)
            self.steps.append(
                _Step(produced_bytes, scratch.get(run.call, 0), tuple({*read, *produced}), after, overwrites)
            )
        if can_overwrite is None:
            self._keep_order_in_place(runs, number)

    def _keep_order_in_place(self, runs: Sequence[Run], number: Mapping[Call, int]) -> None:
        """Let a result that is stored over an argument come after all other readers of that argument."""
        for k, run in enumerate(runs):
            position = in_place(run.call)
            if position is None:
                continue
            (given,) = slots_of(run.call.args[position])
            for j, other in enumerate(runs):
                if j != k and any(given in slots_of(arg) for arg in other.call.args):
                    self.steps[k] = replace(self.steps[k], after=self.steps[k].after | 1 << j)

    def after_step(self, state: _State, done: int, k: int) -> _State:
        """``state`` after step ``k``, if the steps ``done`` ran before."""
        step = self.steps[k]
        during = state.alive + step.produced_bytes
        after, now = during, done | 1 << k
        for value in step.reads:
            if self.readers[value] & ~now == 0:
                after -= self.sizes[value]
        reused = (self.sizes[value] for value in step.overwrites if self.readers[value] & ~now == 0)
        during -= max(reused, default=0)
        return _State(after, max(state.peak, during + step.scratch), (*state.order, k))

    def is_possible(self, order: Sequence[int]) -> bool:
        """Whether each step in ``order`` comes after the steps that must come before it."""
        done = 0
        for k in order:
            if self.steps[k].after & ~done:
                return False
            done |= 1 << k
        return True

    def peak(self, order: Sequence[int]) -> int:
        """The peak memory of ``order``, in bytes."""
        state, done = _State(0, 0, ()), 0
        for k in order:
            state = self.after_step(state, done, k)
            done |= 1 << k
        return state.peak

    def search(self) -> _State:
        """The best order found: for each set of steps, the order with the lowest peak is kept; of the sets of
        one size, those with the lowest peaks."""
        count = len(self.steps)
        width = max(16, MOST_STATES // (count * count))
        states = {0: _State(0, 0, ())}
        for _ in range(count):
            found: dict[int, _State] = {}
            for done, state in states.items():
                for k, step in enumerate(self.steps):
                    if done >> k & 1 or step.after & ~done:
                        continue
                    new, now = self.after_step(state, done, k), done | 1 << k
                    known = found.get(now)
                    if known is None or (new.peak, new.order) < (known.peak, known.order):
                        found[now] = new
            ranked = sorted(found.items(), key=lambda one: (one[1].peak, one[1].alive, one[1].order))
            states = dict(ranked[:width])
        return next(iter(states.values()))


def _overwritable(
    call: Call, can_overwrite: Callable[[Call, int], bool], index: Mapping[Slot, int]
) -> tuple[int, ...]:
    """The numbers of the values that the result of ``call`` could be stored over."""
    given = [slots_of(arg) for arg in call.args]
    read = [slot for slots in given for slot in slots]
    return tuple(
        index[slots[0]]
        for position, slots in enumerate(given)
        if len(slots) == 1
        and slots[0] in index
        and read.count(slots[0]) == 1
        and can_overwrite(call, position)
    )
