"""What won in another shape is put before the model of gains: it may take the default's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from made_up_gains import gains_by, worth

import tvmlite
from tvmlite import relay
from tvmlite.autotune.model import gains
from tvmlite.autotune.model.gains import Gains, Trust
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.search.nearest import TASKS
from tvmlite.core.errors import InputError
from tvmlite.core.version import VERSION
from tvmlite.machine.target import Target
from tvmlite.model.predictions import Predictions
from tvmlite.model.record_lookup import NEAREST, PREDICTED, TUNED, Choice, Choices
from tvmlite.relay.entry import tasks
from tvmlite.relay.ir.nodes import Function
from tvmlite.te.space import ConfigEntity, OptionChoice, Task

NATIVE = Target.parse("native")
TILED = "fn (%p0: Tensor[({0}, 30, 40), {1}]) {{ tile(%p0, reps=[1, 2, 3]) }}"
TILED_RELU = "fn (%p0: Tensor[({0}, 30, 40), {1}]) {{ tile(nn.relu(%p0), reps=[1, 2, 3]) }}"
CONV = "fn (%p0: Tensor[(1, 3, {0}, {0}), {1}], %p1: Tensor[(10, 3, 3, 3), {1}]) {{ nn.conv2d(%p0, %p1) }}"
X = np.random.default_rng(0).normal(size=(20, 30, 40)).astype(np.float32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVMLITE_CACHE", str(tmp_path / "cache"))


@dataclass(frozen=True)
class LikesOne(Gains):
    """Predicts of the ``place``-th candidate that it is ``2**gain`` times as quick as the default, and of all
    others that they are half as quick; of how many it was ``asked``."""

    place: int = 0
    gain: float = 1.0
    asked: list[int] = field(default_factory=list)

    def __call__(self, default: np.ndarray, rows: np.ndarray) -> np.ndarray:
        self.asked.append(len(rows))
        return np.where(np.arange(len(rows)) == self.place, self.gain, -1.0)


def likes(place: int, gain: float = 1.0, target: Target = NATIVE, **kinds: Trust) -> LikesOne:
    trees = gains_by("0: lanes", 0.5).trees
    return LikesOne(trees, kinds or {"tile": worth(doubt=0.2)}, target, place, gain)


def group(extent: int, text: str = TILED, dtype: str = "float32") -> Function:
    return tasks.group_of(text.format(extent, dtype))


def of_sketch(vectors: int, chunk: int) -> dict[str, OptionChoice]:
    """Knobs that no candidate that is drawn has all of."""
    knobs = {"tile.vectors": vectors, "tile.chunk": chunk, "tile.block": 2}
    return {"rule": OptionChoice("sketch"), **{name: OptionChoice(value) for name, value in knobs.items()}}


WINNER = of_sketch(8, 256)


def compared(
    one: Function, winner: dict[str, OptionChoice] | None = None, gain: float = 1.5, **fields: object
) -> list[rec.Record]:
    """Records of a comparison in which ``winner``, the default if None, was ``gain`` times as quick as the
    default."""
    task = tasks.task_of(one, NATIVE)
    told = {"verified": True, "origin": rec.FINAL, "code": VERSION} | fields
    made = [
        rec.Record((task.name, task.args), str(NATIVE), config, (seconds,), **told)  # type: ignore[arg-type]
        for config, seconds in ((ConfigEntity(winner or {}), 1e-3), (task.default, 1e-3 * gain))
    ]
    return made if winner is not None else made[1:]


def decided(records: Sequence[rec.Record], model: Gains | None, one: Function | None = None) -> Choice:
    """What is decided of ``one``, a repetition of 20 rows if None."""
    choices = Choices.of(records, NATIVE)
    choices.predictions = None if model is None else Predictions(NATIVE, model)
    return choices.decide(one or group(20))


def test_what_won_in_another_shape_takes_the_defaults_place_where_the_model_likes_it_best() -> None:
    found = decided(compared(group(24), WINNER), likes(0))

    assert found.config is not None
    assert found.config.settings == WINNER
    assert (found.origin, found.loss) == (NEAREST, 0.1)
    assert found.reason == (
        "predicted 2.00x as quick as the default, beyond doubt from 1.15x; 1.50x measured with (24, 30, 40)"
    )


def test_where_the_model_likes_another_better_that_is_taken() -> None:
    found = decided(compared(group(24), WINNER), likes(1))

    assert found.config is not None
    assert found.config.settings != WINNER
    assert found.origin == PREDICTED
    assert "measured" not in found.reason


@pytest.mark.parametrize(
    "model",
    [
        likes(0, gain=0.3),  # no tenth more than it was off by
        likes(0, gain=-0.5),
        None,
    ],
)
def test_else_the_default_stays_and_loses_what_it_lost_there(model: LikesOne | None) -> None:
    found = decided(compared(group(24), WINNER), model)

    assert found == Choice("default", None, pytest.approx(0.5), "no record; nearest shape's")


@pytest.mark.parametrize(
    "model",
    [
        likes(0, tile=worth(gaining=0.0)),
        likes(0, transpose=worth()),
        likes(0, target=Target.parse("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")),
    ],
    ids=["it gained nothing", "of other kinds", "of other processors"],
)
def test_a_model_that_was_not_tried_on_such_a_kernel_is_not_asked(model: LikesOne) -> None:
    found = decided(compared(group(24), WINNER), model)

    assert found == Choice("default", None, pytest.approx(0.5), "no record; nearest shape's")
    assert model.asked == []


def first_of(records: Sequence[rec.Record]) -> tuple[dict[str, OptionChoice], str]:
    """The configuration that the model is shown first for 20 rows, and why it is taken."""
    found = decided(records, likes(0))
    assert found.config is not None
    return found.config.settings, found.reason  # type: ignore[return-value]


NOT_DRAWN = [of_sketch(8, 256), of_sketch(8, 16), of_sketch(4, 256), of_sketch(2, 256), of_sketch(4, 16)]


def test_the_nearest_shape_comes_first_and_of_many_a_few_count() -> None:
    extents = [300, 15, 21, 160, 40]
    in_some_order = [
        one for extent, won in zip(extents, NOT_DRAWN, strict=True) for one in compared(group(extent), won)
    ]

    config, reason = first_of(in_some_order)
    asked = likes(0)
    decided(in_some_order, asked)
    alone = likes(0)
    decided(compared(group(21), NOT_DRAWN[2]), alone)
    taken = [decided(in_some_order, likes(place)) for place in range(TASKS + 1)]

    assert config == NOT_DRAWN[2]
    assert reason.endswith("measured with (21, 30, 40)")
    assert asked.asked[0] == alone.asked[0] + TASKS - 1
    assert [one.config.settings for one in taken if one.config][:TASKS] == [NOT_DRAWN[n] for n in (2, 1, 4)]
    assert [one.origin for one in taken] == [NEAREST] * TASKS + [PREDICTED]


def test_of_shapes_as_near_the_order_of_the_file_tells_nothing() -> None:
    near, far = compared(group(10), NOT_DRAWN[0]), compared(group(40), NOT_DRAWN[1])

    assert first_of([*near, *far]) == first_of([*far, *near])
    assert first_of([*near, *far])[1].endswith("measured with (10, 30, 40)")


def test_what_won_in_two_shapes_is_told_of_the_nearer() -> None:
    both = [*compared(group(200), WINNER, 3.0), *compared(group(24), WINNER, 1.2)]

    config, reason = first_of(both)

    assert config == WINNER
    assert reason.endswith("1.20x measured with (24, 30, 40)")


@pytest.mark.parametrize(
    "records",
    [
        compared(group(24, TILED_RELU), WINNER),
        compared(group(24, dtype="int32"), WINNER),
        compared(group(24)),
        compared(group(24), WINNER, gain=0.9),
        compared(group(24), WINNER)[:1],
        compared(group(24), {"rule": OptionChoice("sketch"), "tile.vectors": OptionChoice(8)}),
        compared(group(24), {**WINNER, "tile.chunk": OptionChoice(77)}),
        compared(group(24), {**WINNER, "rule": OptionChoice("another")}),
        compared(group(24), WINNER, origin="random"),
        compared(group(24), WINNER, threads=99),
    ],
    ids=[
        "another operator",
        "other elements",
        "the default won",
        "it was slower",
        "not beside the default",
        "a knob is missing",
        "no such setting",
        "no such rule",
        "not compared",
        "on other threads",
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_proves_nothing_for_this_shape_is_not_put_before_the_model(records: list[rec.Record]) -> None:
    without, model = likes(99), likes(99)
    decided([], without)

    decided(records, model)

    assert model.asked == without.asked
    assert len(model.asked) == 1


def test_a_split_that_does_not_divide_becomes_the_most_similar() -> None:
    other, mine = (tasks.task_of(group(extent, CONV), NATIVE) for extent in (52, 62))
    winner = a_split_of(other, mine)

    found = decided(compared(group(52, CONV), winner), likes(0, **{"nn.conv2d": worth()}), group(62, CONV))

    assert found.origin == NEAREST
    assert found.config is not None
    assert found.config.settings != winner
    assert found.config.settings.keys() == winner.keys()
    assert mine.config_space.index_of(found.config.settings) is not None
    assert found.reason.endswith("measured with (1, 3, 52, 52) (10, 3, 3, 3)")


@pytest.mark.filterwarnings("ignore:a record has knobs")
def test_an_old_record_of_the_task_itself_is_none_of_another_shape() -> None:
    other, mine = (tasks.task_of(group(extent, CONV), NATIVE) for extent in (52, 62))
    model = likes(0, **{"nn.conv2d": worth()})

    found = decided(compared(group(62, CONV), a_split_of(other, mine)), model, group(62, CONV))

    assert found.origin == PREDICTED


def a_split_of(other: Task, mine: Task) -> dict[str, OptionChoice]:
    """What the rule ``sketch`` thinks best of ``other``, with splits that the space of ``mine`` has not."""
    settings = other.defaults[1].settings
    knobs = mine.config_space.knobs_of(ConfigEntity(settings))
    lacking = {
        name: [one for one in choices if one not in knobs[name]]
        for name, choices in other.config_space.knobs_of(ConfigEntity(settings)).items()
    }
    assert any(lacking.values())
    return settings | {name: some[0] for name, some in lacking.items() if some}  # type: ignore[return-value]


def test_a_default_that_failed_beside_the_winner_is_not_lost() -> None:
    won, default = compared(group(20), WINNER)
    failed = replace(default, costs=(), error="crash", verified=False)

    found = decided([won, failed], None)
    other = decided([won, failed], None, group(24))

    assert found.config is not None
    assert (found.origin, found.config.settings, found.seconds) == (TUNED, WINNER, 1e-3)
    assert other == Choice("default", None, None, "no record")


def test_a_prediction_is_kept_with_what_was_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = likes(0)
    monkeypatch.setattr(gains, "shipped", lambda: model)
    module = relay.parse("def @main(%x: Tensor[(20, 30, 40), float32]) { tile(%x, reps=[1, 2, 3]) }")
    path = tmp_path / "tune.jsonl"
    rec.append(path, compared(group(24), WINNER))

    plain = tvmlite.compile(module, predict=True)
    near = tvmlite.compile(module, predict=True, records=path)
    other = tvmlite.compile(module, predict=True, records=compared(group(24), NOT_DRAWN[1]))
    seen = len(model.asked)
    again = tvmlite.compile(module, predict=True, records=path)

    assert [lib.report.rows[0].schedule for lib in (plain, near, other, again)] == [
        "cost model sketch",
        *["nearest shape sketch"] * 3,
    ]
    assert len({lib.kernel_names[0] for lib in (plain, near, other)}) == 3
    assert (seen, len(model.asked)) == (3, 3)
    assert again.kernel_names == near.kernel_names
    assert again.report.rows[0].from_cache
    assert again.report.rows[0].reason == near.report.rows[0].reason
    assert "nearest shape sketch" in str(near.report)
    assert "10% (predicted 2.00x as quick" in str(near.report)
    np.testing.assert_array_equal(near(X), np.tile(X, (1, 2, 3)))


def test_the_record_of_another_shape_is_no_record_of_this(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gains, "shipped", lambda: likes(0))
    module = relay.parse("def @main(%x: Tensor[(20, 30, 40), float32]) { tile(%x, reps=[1, 2, 3]) }")
    records = compared(group(24), WINNER)

    with pytest.raises(InputError, match=r"1 of 1 kernels are not tuned: fused_tile.*1\.50x measured with"):
        tvmlite.compile(module, predict=True, records=records, require_tuned=True)
