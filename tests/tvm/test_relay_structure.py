"""``relay.transform``: what runs around a pass, normal forms, and concatenations of many arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TvmliteError
from tvmlite.tvm import relay
from tvmlite.tvm.ir.instrument import pass_instrument
from tvmlite.tvm.relay import transform
from tvmlite.tvm.relay.testing import run_infer_type, run_opt_pass


def same(found: Any, wanted: Any) -> None:
    """``found`` is ``wanted`` with types."""
    tvm.ir.assert_structural_equal(found, run_infer_type(wanted))


CALLS_ITSELF = """
let %f = fn (%n: int32) -> int32 { if (%n == 0) { %n } else { %n + %f(%n - 1) } };
let %g = %f;
%g(4)
"""


@pytest.mark.parametrize("normal", [transform.ToANormalForm, transform.ToBasicBlockNormalForm])
def test_another_name_of_a_function_that_calls_itself_is_bound_behind_it(normal: Any) -> None:
    function = relay.Function([], tvm.parser.parse_expr(CALLS_ITSELF))

    found = run_opt_pass(run_infer_type(function), normal())

    assert str(found).index("let %f") < str(found).index("let %g")
    assert relay.analysis.well_formed(found)
    assert relay.create_executor("debug").evaluate(found)() == 10


def test_a_variable_is_read_by_the_name_that_a_let_gives_it() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y")
    before = relay.Function([x], relay.Let(y, x, relay.exp(x)))

    found = run_opt_pass(before, [transform.ToBasicBlockNormalForm(), transform.InferType()])

    same(found, relay.Function([x], relay.Let(y, x, relay.exp(y))))


def test_types_are_inferred_behind_a_pass_over_functions_and_before_one_that_requires_it() -> None:
    ran: list[str] = []

    @pass_instrument
    class Listening:
        def run_before_pass(self, mod: object, info: tvm.transform.PassInfo) -> None:
            ran.append(info.name)

    passes = [transform.FoldConstant(), transform.DeadCodeElimination(), transform.SimplifyInference()]
    with tvm.transform.PassContext(instruments=[Listening()]):
        tvm.transform.Sequential(passes)(tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,)))))

    assert ran == [
        "sequential", "FoldConstant", "InferType", "InferType", "DeadCodeElimination",
        "InferType", "SimplifyInference", "InferType",
    ]  # fmt: skip


@pytest.mark.parametrize(("limit", "parts"), [(3, [2, 2, 1]), (5, [4, 1]), (6, [5]), (0, [5]), (-1, [5])])
def test_a_concatenation_of_many_arrays_is_split(limit: int, parts: list[int]) -> None:
    arrays = [relay.var(f"x{index}", shape=(2, 3)) for index in range(5)]

    found = run_opt_pass(relay.concatenate(arrays, axis=1), transform.SplitArgs(limit))

    if len(parts) > 1:
        ends = np.cumsum(parts)
        joined = [
            relay.concatenate(arrays[end - one : end], axis=1) for one, end in zip(parts, ends, strict=True)
        ]
        arrays = [relay.annotation.stop_fusion(one) for one in joined]
    same(found, relay.concatenate(arrays, axis=1))


def test_a_limit_of_arguments_leaves_room_for_one() -> None:
    with pytest.raises(
        TvmliteError, match="SplitArgs: max_function_args: 1 given, expected 0, or 2 and more"
    ):
        transform.SplitArgs(1)
    assert tvm.target.Target("metal").max_function_args == 31
    assert tvm.target.Target("llvm").max_function_args == -1


def test_batching_is_the_passes_of_parallel_operators() -> None:
    names = [one.info.name for one in transform.BatchingOps().passes]

    assert names == ["CombineParallelConv2D", "CombineParallelDense", "CombineParallelBatchMatmul"]


def test_a_module_is_printed_to_the_stream_of_errors(capsys: pytest.CaptureFixture[str]) -> None:
    transform.PrintIR("before")(tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,)))))

    assert "PrintIR(before):\ndef @main" in capsys.readouterr().err.replace('#[version = "0.0.5"]\n', "")
