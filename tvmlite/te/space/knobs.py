"""The settings of knobs: all ways to split a loop, to order loops, to annotate them.

Names and policies are those of AutoTVM (Chen et al., "Learning to Optimize Tensor Programs", NeurIPS 2018),
so that templates written for it have the same meaning here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te.space.choices import (
    ANNOTATIONS,
    OPTIONS,
    AnnotateChoice,
    OptionChoice,
    ReorderChoice,
    SplitChoice,
)

LONGEST = 1 << 40
"""The longest loop whose divisors are searched: for longer ones this takes more than a second."""

MOST_OUTPUTS = 64
"""The most loops that one can be split into; templates use up to four."""

MOST_CHOICES = 1_000_000
"""The most settings of a knob; more are a mistake in the template, and would not fit in memory."""


def split_choices(
    length: int,
    num_outputs: int,
    policy: str = "factors",
    filter: Callable[[SplitChoice], bool] | None = None,
    max_factor: int | None = None,
    candidate: Sequence[Sequence[int]] | None = None,
    no_tail: bool = False,
) -> list[SplitChoice]:
    """The ways to split a loop of ``length`` iterations into ``num_outputs`` loops.

    ``policy``: ``factors`` takes inner extents from the divisors of ``length``, ``power2`` from the powers of
    two up to it, ``verbose`` from both; ``candidate`` takes the given sizes. The outermost extent is the
    remaining one (-1), including a tail; ``no_tail`` excludes sizes that do not divide. ``max_factor`` bounds
    the inner extents, ``filter(choice)`` selects choices.
    """
    num_outputs = arguments.whole("define_split: num_outputs", num_outputs, ScheduleError, least=1)
    if num_outputs > MOST_OUTPUTS:
        raise _error(f"define_split: num_outputs is {num_outputs}, expected at most {MOST_OUTPUTS}")
    arguments.text("define_split: policy", policy, ScheduleError)
    arguments.boolean("define_split: no_tail", no_tail, ScheduleError)
    candidate = _lists("define_split: candidate", candidate)
    if filter is not None:
        arguments.function("define_split: filter", filter, ScheduleError)
    if max_factor is not None:
        max_factor = arguments.whole("define_split: max_factor", max_factor, ScheduleError)
    if policy == "candidate":
        if not candidate:
            raise _error('define_split: policy "candidate" needs candidate=[[-1, 8], ...]')
        made: Iterable[SplitChoice] = (_given_split(sizes, num_outputs) for sizes in candidate)
    else:
        lengths = _lengths(length, policy)
        if max_factor is not None:
            lengths = [one for one in lengths if one <= max_factor]
        inner = _inner_lengths(length, lengths, num_outputs - 1, no_tail)
        made = (SplitChoice((-1, *sizes)) for sizes in inner)
    return _collected("define_split", (one for one in made if filter is None or filter(one)))


def reorder_choices(
    count: int, policy: str, candidate: Sequence[Sequence[int]] | None, groups: Sequence[Sequence[int]] | None
) -> list[ReorderChoice]:
    """The orders of ``count`` loops.

    ``policy``: ``identity`` keeps the given order, ``all`` is every order, ``interval_all`` every order of
    the loops in the interval ``(first, last)`` of ``groups``, both inclusive, ``interleave`` every merge of
    the sequences in ``groups`` that keeps their orders, ``candidate`` the given permutations.
    """
    arguments.text("define_reorder: policy", policy, ScheduleError)
    candidate = _lists("define_reorder: candidate", candidate)
    groups = _lists("define_reorder: groups", groups)
    match policy:
        case "identity":
            return [ReorderChoice(tuple(range(count)))]
        case "all":
            _refuse_more_than_fit([1] * count)
            return _collected("define_reorder", map(ReorderChoice, itertools.permutations(range(count))))
        case "interval_all":
            first, last = _interval(count, groups)
            _refuse_more_than_fit([1] * (last + 1 - first))
            middles = itertools.permutations(range(first, last + 1))
            made = ((*range(first), *middle, *range(last + 1, count)) for middle in middles)
            return _collected("define_reorder", map(ReorderChoice, made))
        case "interleave":
            if not groups or sorted(itertools.chain(*groups)) != list(range(count)):
                raise _error(f"define_reorder: policy 'interleave' needs spatial groups of all {count} axes")
            _refuse_more_than_fit([len(group) for group in groups])
            return _collected("define_reorder", map(ReorderChoice, _merges(groups)))
        case "candidate":
            for one in candidate or ():
                if sorted(one) != list(range(count)):
                    raise _error(f"define_reorder: {list(one)} is no order of {count} axes")
            if not candidate:
                raise _error('define_reorder: policy "candidate" needs candidate=[[0, 1, 2], ...]')
            return [ReorderChoice(tuple(one)) for one in candidate]
        case _:
            known = "identity, all, interval_all, interleave, candidate"
            raise _error(f"define_reorder: there is no policy {policy!r}; there are {known}")


def annotate_choices(
    count: int, policy: str, candidate: Sequence[Sequence[str]] | None
) -> list[AnnotateChoice]:
    """The ways to annotate ``count`` loops, outermost first.

    ``policy``: ``parallel``, ``vectorize``, ``unroll`` annotate all loops; ``try_parallel`` the outermost or
    none; ``try_vec`` the innermost or none; ``try_unroll`` unrolls none, one, ... up to all, from the
    innermost; ``try_unroll_vec`` also has versions with the innermost vectorized; ``candidate``: those given.
    """
    arguments.text("define_annotate: policy", policy, ScheduleError)
    candidate = _lists("define_annotate: candidate", candidate, str)
    plain = ("none",) * count
    match policy:
        case "parallel" | "vectorize" | "unroll":
            return [AnnotateChoice((policy,) * count)]
        case "try_parallel":
            return [AnnotateChoice(plain), AnnotateChoice(("parallel", *plain[1:]))]
        case "try_vec":
            return [AnnotateChoice(plain), AnnotateChoice((*plain[1:], "vectorize"))]
        case "try_unroll":
            return [AnnotateChoice((*plain[n:], *("unroll",) * n)) for n in range(count + 1)]
        case "try_unroll_vec":
            unrolled = [AnnotateChoice((*plain[n:], *("unroll",) * n)) for n in range(count + 1)]
            tails = [(*("unroll",) * n, "vectorize") for n in range(count)]
            return unrolled + [AnnotateChoice((*plain[len(tail) :], *tail)) for tail in tails]
        case "candidate":
            for one in candidate or ():
                if len(one) != count or not set(one) <= set(ANNOTATIONS):
                    known = ", ".join(ANNOTATIONS)
                    raise _error(f"define_annotate: {list(one)} given, expected {count} of {known}")
            if not candidate:
                raise _error('define_annotate: policy "candidate" needs candidate=[["none", "unroll"], ...]')
            return [AnnotateChoice(tuple(one)) for one in candidate]
        case _:
            known = (
                "parallel, vectorize, unroll, try_parallel, try_vec, try_unroll, try_unroll_vec, candidate"
            )
            raise _error(f"define_annotate: there is no policy {policy!r}; there are {known}")


def option_choices(candidate: Sequence[Any]) -> list[OptionChoice]:
    """The values of a knob that the template defines."""
    kinds = (list, tuple, range)
    candidate = arguments.instance(
        "define_knob: candidate", candidate, kinds, "a list of values", ScheduleError
    )
    if not candidate:
        raise _error("define_knob: no candidate given")
    expected = "a number, a word, a truth value or None"
    arguments.all_instances("define_knob", candidate, OPTIONS, expected, ScheduleError)
    return [OptionChoice(one) for one in candidate]


def divisors(number: int) -> list[int]:
    """The divisors of ``number``, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


def _lists(where: str, value: Any, kind: type[Any] = int) -> list[tuple[Any, ...]]:
    """``value`` as a list of lists of ``kind``; empty if it is None."""
    if value is None:
        return []
    what = "ints" if kind is int else "words"
    rows = [
        arguments.listed(where, one, what, ScheduleError)
        for one in arguments.listed(where, value, f"lists of {what}", ScheduleError)
    ]
    return [arguments.all_instances(where, row, kind, what[:-1], ScheduleError) for row in rows]


def _lengths(length: int, policy: str) -> list[int]:
    if length > LONGEST and policy in ("factors", "verbose"):
        raise _error(
            f"define_split: a loop of {length} iterations, expected at most {LONGEST}",
            hint='policy "power2" has no limit',
        )
    powers = [1 << n for n in range(length.bit_length()) if 1 << n <= length]
    match policy:
        case "factors":
            return divisors(length)
        case "power2":
            return powers
        case "verbose":
            return sorted({*divisors(length), *powers})
        case _:
            known = "factors, power2, verbose, candidate"
            raise _error(f"define_split: there is no policy {policy!r}; there are {known}")


def _inner_lengths(length: int, lengths: list[int], count: int, no_tail: bool) -> Iterator[tuple[int, ...]]:
    """All sequences of ``count`` extents from ``lengths`` whose product is at most ``length``, in order."""
    if count == 0:
        yield ()
        return
    for one in lengths:
        if one <= length and not (no_tail and length % one):
            for rest in _inner_lengths(length // one, lengths, count - 1, no_tail):
                yield (*rest, one)


def _given_split(sizes: Sequence[int], num_outputs: int) -> SplitChoice:
    lengths = tuple(sizes)
    inner = all(isinstance(one, int) and one >= 1 for one in lengths[1:])
    if len(lengths) != num_outputs or not inner or not (lengths[0] == -1 or lengths[0] >= 1):
        raise _error(
            f"define_split: candidate {list(sizes)} given, expected {num_outputs} lengths, "
            "the first of them -1 or positive, the others positive"
        )
    return SplitChoice(lengths)


def _interval(count: int, groups: Sequence[Sequence[int]] | None) -> tuple[int, int]:
    match groups:
        case [(int() as first, int() as last)] if 0 <= first <= last < count:
            return first, last
        case _:
            raise _error(
                f"define_reorder: policy 'interval_all' needs interval=(first, last) within {count} axes, "
                f"got {groups!r}"
            )


def _refuse_more_than_fit(lengths: Sequence[int]) -> None:
    """Raise a ScheduleError if sequences of ``lengths`` have more merges than a knob may have settings."""
    ways, total = 1, 0
    for length in lengths:
        for place in range(1, length + 1):
            total += 1
            ways = ways * total // place
            if ways > MOST_CHOICES:
                raise _too_many("define_reorder", 'policy "candidate" takes the orders to try')


def _merges(groups: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """All merges of the sequences in ``groups`` that keep the order of each: one for each distinct
    permutation of the groups' numbers, in lexicographic order (Knuth, TAOCP 7.2.1.2, algorithm L)."""
    word = [number for number, group in enumerate(groups) for _ in group]
    while True:
        rest = [iter(group) for group in groups]
        yield tuple(next(rest[number]) for number in word)
        last = next((k for k in reversed(range(len(word) - 1)) if word[k] < word[k + 1]), None)
        if last is None:
            return
        other = next(k for k in reversed(range(len(word))) if word[k] > word[last])
        word[last], word[other] = word[other], word[last]
        word[last + 1 :] = reversed(word[last + 1 :])


def _collected(what: str, choices: Iterable[Any]) -> list[Any]:
    made = list(itertools.islice(choices, MOST_CHOICES + 1))
    if len(made) > MOST_CHOICES:
        raise _too_many(what, "bound it by max_factor=")
    if not made:
        raise _error(f"{what}: no setting is left", hint="the filter or max_factor excludes all")
    return made


def _too_many(what: str, hint: str) -> ScheduleError:
    return _error(f"{what}: the knob has more than {MOST_CHOICES} settings", hint)


def _error(message: str, hint: str | None = None) -> ScheduleError:
    return ScheduleError(message, Span.of_caller(), hint)
