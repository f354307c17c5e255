"""Knobs have every valid setting once and no others, compared with enumeration by brute force."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tvmlite.core.errors import ScheduleError
from tvmlite.te.space import AnnotateChoice, OptionChoice, ReorderChoice, SplitChoice, knobs


@pytest.mark.parametrize("length", [1, 7, 12, 64])
@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_splits_are_all_products_of_divisors_that_fit(length: int, outputs: int) -> None:
    divisors = [d for d in range(1, length + 1) if length % d == 0]
    expected = set()
    for inner in itertools.product(divisors, repeat=outputs - 1):
        left = length
        for size in reversed(inner):
            left = left // size if left >= size else 0
        if left:
            expected.add((-1, *inner))

    found = [choice.size for choice in knobs.split_choices(length, outputs)]

    assert len(found) == len(set(found))
    assert set(found) == expected


def test_power2_factors_go_up_to_the_length() -> None:
    assert [c.size[1] for c in knobs.split_choices(20, 2, "power2")] == [1, 2, 4, 8, 16]


def test_verbose_has_divisors_and_powers_of_two() -> None:
    assert [c.size[1] for c in knobs.split_choices(12, 2, "verbose")] == [1, 2, 3, 4, 6, 8, 12]


def test_without_a_tail_only_divisors_are_left() -> None:
    assert [c.size[1] for c in knobs.split_choices(12, 2, "verbose", no_tail=True)] == [1, 2, 3, 4, 6, 12]


def test_a_filter_and_a_maximum_factor_restrict_a_split() -> None:
    found = knobs.split_choices(64, 2, filter=lambda c: c.size[1] > 2, max_factor=16)

    assert found == [SplitChoice((-1, n)) for n in (4, 8, 16)]


def test_orders_are_permutations() -> None:
    assert {c.permutation for c in knobs.reorder_choices(3, "all", None, None)} == set(
        itertools.permutations(range(3))
    )
    assert [c.permutation for c in knobs.reorder_choices(3, "identity", None, None)] == [(0, 1, 2)]


def test_an_interval_of_loops_is_reordered_in_place() -> None:
    found = [c.permutation for c in knobs.reorder_choices(4, "interval_all", None, [(1, 2)])]

    assert found == [(0, 1, 2, 3), (0, 2, 1, 3)]


def test_interleaving_keeps_the_order_of_each_group() -> None:
    found = {c.permutation for c in knobs.reorder_choices(4, "interleave", None, [(0, 1), (2, 3)])}

    assert found == {
        p for p in itertools.permutations(range(4)) if p.index(0) < p.index(1) and p.index(2) < p.index(3)
    }


def test_interleavings_are_ordered_by_their_groups() -> None:
    found = [c.permutation for c in knobs.reorder_choices(4, "interleave", None, [(0,), (1, 2), (3,)])]

    assert len(found) == 12
    assert found[:4] == [(0, 1, 2, 3), (0, 1, 3, 2), (0, 3, 1, 2), (1, 0, 2, 3)]
    (long,) = knobs.reorder_choices(5000, "interleave", None, [list(range(5000)), []])
    assert long.permutation == tuple(range(5000))


@pytest.mark.parametrize(
    ("policy", "groups"),
    [
        ("all", None),
        ("interval_all", [(2, 4000)]),
        ("interleave", [list(range(2500)), list(range(2500, 5000))]),
    ],
)
def test_too_many_orders_are_refused_before_they_are_generated(policy: str, groups: Any) -> None:
    with pytest.raises(ScheduleError, match="define_reorder: the knob has more than 1000000 settings"):
        knobs.reorder_choices(5000, policy, None, groups)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("try_vec", [("none", "none"), ("none", "vectorize")]),
        ("try_parallel", [("none", "none"), ("parallel", "none")]),
        ("try_unroll", [("none", "none"), ("none", "unroll"), ("unroll", "unroll")]),
        ("vectorize", [("vectorize", "vectorize")]),
    ],
)
def test_annotations(policy: str, expected: list[tuple[str, ...]]) -> None:
    assert [c.annotations for c in knobs.annotate_choices(2, policy, None)] == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: knobs.split_choices(8, 0), "num_outputs is 0"),
        (lambda: knobs.split_choices(8, 2, "thirds"), "no policy 'thirds'; there are factors"),
        (lambda: knobs.split_choices(8, 2, "candidate"), "needs candidate"),
        (lambda: knobs.split_choices(8, 2, "candidate", candidate=[[2, 0]]), r"candidate \[2, 0\] given"),
        (lambda: knobs.split_choices(8, 2, filter=lambda c: False), "no setting is left"),
        (lambda: knobs.split_choices(2**40, 6, "power2"), "more than 1000000 settings"),
        (lambda: knobs.reorder_choices(3, "some", None, None), "no policy 'some'"),
        (
            lambda: knobs.reorder_choices(3, "candidate", [[0, 0, 1]], None),
            r"\[0, 0, 1\] is no order of 3 axes",
        ),
        (lambda: knobs.annotate_choices(1, "candidate", [["fly"]]), r"\['fly'\] given"),
        (lambda: knobs.option_choices([]), "no candidate"),
        (lambda: knobs.option_choices([object()]), "expected a number"),
    ],
)
def test_invalid_knobs_are_errors(call, text: str) -> None:
    with pytest.raises(ScheduleError, match=text):
        call()


def test_settings_have_the_names_of_autotvm() -> None:
    made = AnnotateChoice(("none", "unroll")), ReorderChoice((1, 0)), SplitChoice((-1, 8)), OptionChoice(3)

    assert (made[0].anns, made[1].perm) == (("none", "unroll"), (1, 0))
    assert (made[2].size, made[3].val) == ((-1, 8), 3)
