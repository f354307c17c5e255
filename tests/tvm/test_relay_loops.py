"""``relay.loops.while_loop``: its results, compiled and interpreted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TypeInferError
from tvmlite.tvm import relay
from tvmlite.tvm.relay.loops import while_loop

INDEX = relay.var("i", shape=(), dtype="int32")
ROW = relay.var("row", shape=(3,))
STEP = relay.var("step", shape=(3,))


def below(limit: int) -> Any:
    return lambda i, _: i < relay.const(limit, "int32")


def grow(i: Any, row: Any) -> tuple[Any, Any]:
    return i + relay.const(1, "int32"), row + STEP


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
@pytest.mark.parametrize("limit", [0, 1, 4])
def test_the_body_runs_while_the_condition_holds(kind: str, limit: int) -> None:
    last = while_loop(below(limit), [INDEX, ROW], grow)(relay.const(0, "int32"), ROW)
    main = relay.Function([ROW, STEP], relay.TupleGetItem(last, 1))
    row, step = np.arange(3, dtype=np.float32), np.ones(3, np.float32)

    found = relay.create_executor(kind, tvm.IRModule.from_expr(main)).evaluate()(row, step)

    np.testing.assert_array_equal(found.numpy(), row + limit * step)


def test_mistakes_in_while_loop_are_errors() -> None:
    with pytest.raises(TypeInferError, match="loop_bodies gives 1 values, expected 2, one for each"):
        while_loop(below(3), [INDEX, ROW], lambda i, row: (i,))
    with pytest.raises(TypeInferError, match=r"loop_vars\[0\], 'z', has no type, expected one"):
        while_loop(below(3), [relay.var("z"), ROW], grow)
    rows = relay.var("rows", shape=(relay.Any(), 1))
    longer = while_loop(below(3), [INDEX, rows], lambda i, rows: (i, relay.concatenate([rows, rows], 0)))
    with pytest.raises(TypeInferError, match=r"(?s)state %rows is .*hint: the type of a state is fixed"):
        relay.transform.InferType()(tvm.IRModule.from_expr(longer))


def test_the_condition_of_a_branch_is_inferred_to_be_a_bool() -> None:
    b = relay.var("b")
    main = relay.Function([b], relay.If(b, relay.const(1), relay.const(2)))

    assert relay.create_executor("debug").evaluate(main)(True).numpy() == 1
