"""The kinds of nodes in a graph, for ``relay.analysis.detect_feature``."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.tvm.relay.expr import GlobalVar
from tvmlite.tvm.relay.graph.visit import in_order, parts_of
from tvmlite.tvm.relay.op.op import Op


class Feature(IntEnum):
    """TVM's names and numbers of the kinds. ``fGraph`` means that a value that is not a variable, constant or
    operator is used more than once, ``fLetRec`` that the value of a let reads its own variable."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    fLetRec = 16


_OF_KIND: dict[type, Feature] = {
    GlobalVar: Feature.fGlobalVar,
    nodes.Var: Feature.fVar,
    nodes.Constant: Feature.fConstant,
    nodes.Tuple: Feature.fTuple,
    nodes.TupleGetItem: Feature.fTupleGetItem,
    nodes.Function: Feature.fFunction,
    Op: Feature.fOp,
    nodes.Call: Feature.fCall,
    nodes.Let: Feature.fLet,
    nodes.If: Feature.fIf,
}
_ATOMS = (nodes.Var, nodes.Constant, Op)


def features(expr: Any) -> set[Feature]:
    """The kinds of nodes in an expression."""
    found: set[Feature] = set()
    readings: dict[Any, int] = {}
    for node in in_order(expr):
        found.update([feature for kind, feature in _OF_KIND.items() if isinstance(node, kind)][:1])
        if isinstance(node, nodes.Let) and node.var in in_order(node.value):
            found.add(Feature.fLetRec)
        for part in parts_of(node) if isinstance(node, nodes.Expr) else ():
            readings[part] = readings.get(part, 0) + 1
            if readings[part] > 1 and not isinstance(part, _ATOMS):
                found.add(Feature.fGraph)
    return found
