"""Merge convolutions of the same data that differ only in their weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np

from tvmlite.relay.ir.nodes import Call, Constant, Expr, canonical
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.simplify.parallel_branches import combine_parallel

MIN_BRANCHES = 2


@graph_pass
def combine_parallel_conv2d(body: Expr) -> Expr:
    """Rewrite ``conv2d(x, u) + a``, ``conv2d(x, v) + b`` to slices of ``conv2d(x, [u; v]) + [a; b]``.

    The weights must be constants of one kernel size, without groups, in the default layouts, and every reader
    must be able to fuse its slice into its own kernel.
    """
    return combine_parallel(body, _key, _combined, 1, MIN_BRANCHES)


def _key(call: Call) -> Hashable | None:
    if call.op != "nn.conv2d" or not isinstance(call.args[1], Constant):
        return None
    if call["groups"] != 1 or call["kernel_layout"] != "OIHW" or call["data_layout"] != "NCHW":
        return None
    attrs = tuple((name, value) for name, value in call.attrs if name != "channels")
    return attrs, call.args[1].shape[2:], str(call.args[1].dtype)


def _combined(data: Expr, anchors: Sequence[Call]) -> Expr:
    weights = [call.args[1].data for call in anchors if isinstance(call.args[1], Constant)]
    weight = Constant(np.concatenate(weights), anchors[0].span)
    attrs = canonical({**dict(anchors[0].attrs), "channels": weight.shape[0]})
    return dataclasses.replace(anchors[0], args=(data, weight), attrs=attrs)
