"""Merge dense layers of the same data, such as the query, key and value of attention."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.simplify.parallel_branches import combine_parallel

MIN_BRANCHES = 2
"""The least number of layers to merge: the data is read once, and there is more work to divide."""


@graph_pass
def combine_parallel_dense(body: Expr) -> Expr:
    """Rewrite ``dense(x, u) + a``, ``dense(x, v) + b`` to slices of ``dense(x, [u; v]) + [a, b]``.

    The weights must be constant, and every reader must be able to fuse its slice into its own kernel. Integer
    products are not merged: the kernels that compute them round their results to bytes, whereas sums that are
    sliced would be stored in four times the memory.
    """
    return combine_parallel(body, _key, _combined, -1, MIN_BRANCHES)


def _key(call: Call) -> Hashable | None:
    if call.op != "nn.dense" or not isinstance(call.args[1], Constant):
        return None
    if call["out_dtype"] == "int32":
        return None
    return call["out_dtype"], str(call.args[1].dtype)


def _combined(data: Expr, anchors: Sequence[Call]) -> Expr:
    weights = [call.args[1] for call in anchors if isinstance(call.args[1], Constant)]
    first = anchors[0]
    weight = DeferredConstant.joined(weights, first.span)
    return make("nn.dense", data, weight, out_dtype=first["out_dtype"], span=first.span)
