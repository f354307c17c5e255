"""``relay.transform``: type inference around passes, normal forms, and concatenations of many arrays."""

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
    """Check that ``found`` equals ``wanted`` with inferred types."""
    tvm.ir.assert_structural_equal(found, run_infer_type(wanted))


CALLS_ITSELF = """
let %f = fn (%n: int32) -> int32 { if (%n == 0) { %n } else { %n + %f(%n - 1) } };
let %g = %f;
%g(4)
"""


@pytest.mark.parametrize("normal", [transform.ToANormalForm, transform.ToBasicBlockNormalForm])
def test_an_alias_of_a_recursive_function_is_bound_after_it(normal: Any) -> None:
    function = relay.Function([], tvm.parser.parse_expr(CALLS_ITSELF))

    found = run_opt_pass(run_infer_type(function), normal())

    assert str(found).index("let %f") < str(found).index("let %g")
    assert relay.analysis.well_formed(found)
    assert relay.create_executor("debug").evaluate(found)() == 10


def test_a_variable_rebound_by_a_let_is_read_by_its_new_name() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y")
    before = relay.Function([x], relay.Let(y, x, relay.exp(x)))

    found = run_opt_pass(before, [transform.ToBasicBlockNormalForm(), transform.InferType()])

    same(found, relay.Function([x], relay.Let(y, x, relay.exp(y))))


def test_infer_type_runs_after_function_passes_and_where_required() -> None:
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


def test_split_args_refuses_a_limit_of_one() -> None:
    with pytest.raises(
        TvmliteError, match="SplitArgs: max_function_args: 1 given, expected 0, or 2 and more"
    ):
        transform.SplitArgs(1)
    assert tvm.target.Target("metal").max_function_args == 31
    assert tvm.target.Target("llvm").max_function_args == -1


def test_batching_ops_is_the_sequence_of_combine_parallel_passes() -> None:
    names = [one.info.name for one in transform.BatchingOps().passes]

    assert names == ["CombineParallelConv2D", "CombineParallelDense", "CombineParallelBatchMatmul"]


def test_print_ir_prints_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    transform.PrintIR("before")(tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,)))))

    assert "PrintIR(before):\ndef @main" in capsys.readouterr().err.replace('#[version = "0.0.5"]\n', "")
