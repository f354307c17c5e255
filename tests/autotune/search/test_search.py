"""Mutations in a space change one knob or two by little, and the same ones for the same seed."""

from __future__ import annotations

import numpy as np

from tvmlite.autotune.model.features import KnobFeatures
from tvmlite.autotune.search.search import Mutations
from tvmlite.te.space import ConfigSpace


def space_of() -> ConfigSpace:
    space = ConfigSpace()
    for name in "abc":
        space.define_split(name, 1 << 10, num_outputs=3)
    space.define_knob("alone", [True])
    return space


def test_a_child_changes_one_or_two_knobs_mostly_to_near_settings() -> None:
    space = space_of()
    knobs = KnobFeatures(space)
    parent = 54321

    children = Mutations(knobs).children(parent, 200, np.random.default_rng(0))

    changed = (space.positions(children) != space.positions(np.array([parent]))).sum(axis=1)
    away = np.abs(knobs(children) - knobs(np.array([parent]))).sum(axis=1)
    anything = np.abs(knobs(space.sample(200, np.random.default_rng(0))) - knobs(np.array([parent])))
    assert len(set(children.tolist())) == len(children)
    assert changed.max() == 2
    assert np.median(away) < 0.3 * np.median(anything.sum(axis=1))


def test_moves_depend_on_the_seed_and_a_space_of_one_has_none() -> None:
    moves = Mutations(KnobFeatures(space_of()))
    first, second = (moves.children(7, 20, np.random.default_rng(5)).tolist() for _ in range(2))
    alone = ConfigSpace()
    alone.define_knob("alone", [True])

    assert first == second
    assert not len(Mutations(KnobFeatures(alone)).children(0, 20, np.random.default_rng(5)))
