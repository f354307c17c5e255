"""How records choose the schedule of a kernel, and the expected loss of a kernel without a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import tvmlite
from tvmlite import relay
from tvmlite.autotune.records import records as rec
from tvmlite.core import VERSION
from tvmlite.core.errors import InputError
from tvmlite.machine.target import Target
from tvmlite.model.record_lookup import BEST_DEFAULT, TUNED, Choice, Choices
from tvmlite.relay.entry import tasks
from tvmlite.relay.ir.nodes import Function
from tvmlite.te.space import ConfigEntity, OptionChoice

NATIVE = Target.parse("native")
TILED = "fn (%p0: Tensor[({0}, 30, 40), {1}]) {{ tile(%p0, reps=[1, 2, 3]) }}"
TILED_RELU = "fn (%p0: Tensor[({0}, 30, 40), {1}]) {{ tile(nn.relu(%p0), reps=[1, 2, 3]) }}"
NO_RECORD = Choice("default", None, None, "no record")


def group(extent: int, text: str = TILED, dtype: str = "float32") -> Function:
    return tasks.group_of(text.format(extent, dtype))


def of_sketch(vectors: int, chunk: int) -> dict[str, OptionChoice]:
    """Knob settings of a generated schedule."""
    knobs = {"tile.vectors": vectors, "tile.chunk": chunk, "tile.block": 2}
    return {"rule": OptionChoice("sketch"), **{name: OptionChoice(value) for name, value in knobs.items()}}


WINNER = of_sketch(8, 256)


def compared(
    one: Function, winner: dict[str, OptionChoice] | None = None, gain: float = 1.5, **fields: object
) -> list[rec.Record]:
    """Records of a comparison in which ``winner``, the default if None, was ``gain`` times as fast as the
    default."""
    task = tasks.task_of(one, NATIVE)
    told = {"verified": True, "origin": rec.FINAL, "code": VERSION} | fields
    made = [
        rec.Record((task.name, task.args), str(NATIVE), config, (seconds,), **told)  # type: ignore[arg-type]
        for config, seconds in ((ConfigEntity(winner or {}), 1e-3), (task.default, 1e-3 * gain))
    ]
    return made if winner is not None else made[1:]


def decided(records: Sequence[rec.Record], one: Function | None = None) -> Choice:
    """The choice for ``one``, by default a group that tiles an input of extent 20."""
    return Choices.of(records, NATIVE).decide(one or group(20))


def test_the_expected_loss_without_a_record_is_that_of_the_nearest_shape() -> None:
    near, far = compared(group(24), WINNER, 1.5), compared(group(200), WINNER, 3.0)

    for records in ([*near, *far], [*far, *near]):
        found = decided(records)
        assert (found.origin, found.config) == ("default", None)
        assert found.reason == "no record; estimated from the nearest shape"
        assert found.loss == pytest.approx(0.5)


def test_without_similar_shapes_the_expected_loss_is_the_templates_median() -> None:
    records = [
        one
        for extent, gain in ((24, 1.1), (30, 1.2), (40, 4.0))
        for one in compared(group(extent, TILED_RELU), WINNER, gain)
    ]

    found = decided(records)

    assert found.origin == "default"
    assert found.reason == "no record; estimated from other kernels of its template"
    assert found.loss == pytest.approx(0.2)


@pytest.mark.parametrize(
    "records",
    [
        compared(group(24), WINNER)[:1],
        compared(group(24), WINNER, origin="random"),
        compared(group(24), WINNER, threads=99),
    ],
    ids=["not beside the default", "not compared", "on other threads"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_records_without_a_valid_comparison_give_no_expected_loss(records: list[rec.Record]) -> None:
    assert decided(records) == NO_RECORD


def test_a_comparison_whose_default_failed_still_has_a_winner() -> None:
    won, default = compared(group(20), WINNER)
    failed = replace(default, costs=(), error="crash", verified=False)

    found = decided([won, failed])
    other = decided([won, failed], group(24))

    assert found.config is not None
    assert (found.origin, found.config.settings, found.seconds) == (TUNED, WINNER, 1e-3)
    assert other == NO_RECORD


def test_a_default_that_won_its_comparison_is_reported_as_the_best() -> None:
    won, default = compared(group(20), WINNER)

    found = decided([replace(default, costs=won.costs), replace(won, costs=default.costs)])

    assert (found.origin, found.config, found.loss) == (BEST_DEFAULT, None, 0.0)


def test_a_record_of_another_shape_does_not_count_as_tuned() -> None:
    module = relay.parse("def @main(%x: Tensor[(20, 30, 40), float32]) { tile(%x, reps=[1, 2, 3]) }")
    records = compared(group(24), WINNER)

    with pytest.raises(InputError, match=r"1 of 1 kernels are not tuned: fused_tile.*nearest shape"):
        tvmlite.compile(module, records=records, require_tuned=True)


def test_open_dimensions_are_reported_as_the_reason_for_no_record() -> None:
    module = relay.parse("def @main(%x: Tensor[(n, 20), float32]) { nn.relu(%x) }")

    (row,) = tvmlite.compile(module, records=compared(group(24), WINNER)).report.rows

    assert (row.schedule, row.loss, row.reason) == ("default injective", None, "open dimensions n")
