"""Tail duplication for an If whose branches differ in rank: the nodes after it are copied into both branches.

PyTorch exports ``squeeze`` of an open axis as ``If(extent == 1, Squeeze, Identity)``. The nodes after it are
duplicated into both branches until their results have the same ranks again, and the Relay If ends there.
Outputs of the model that lose axes of extent 1 in one branch keep them in compiled code, and the runtime
removes them (``squeezed``). Otherwise one branch is compiled, and a run whose sizes select the other stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx

from tvmlite.core.errors import TvmliteError
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import Dim, TensorType, Type, dims_of
from tvmlite.relay.onnx.control.branches import make_if
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.conditions import Undecided
from tvmlite.relay.onnx.graph.data_dependent_dims import bind_dims, check_condition
from tvmlite.relay.onnx.graph.node import MAX_KNOWN_ELEMENTS, OnnxNode
from tvmlite.relay.onnx.reading.node_order import names_read
from tvmlite.te import arith
from tvmlite.te import expr as e

if TYPE_CHECKING:
    from tvmlite.relay.onnx.importer import Importer, Scope

Labelled: TypeAlias = tuple[str, onnx.NodeProto]
"""A node, and its label in errors."""

Wanted: TypeAlias = Mapping[str, int | None]
"""The values that are needed in the end, each with its rank if the model declares it."""


MAX_NESTED = 3
"""The nesting depth to which such Ifs are duplicated; deeper ones take the branch that most sizes select."""

INITIAL_TAIL = 4
"""The number of nodes after an If that are duplicated at first; then twice as many, and so on."""


@dataclass
class Outcome:
    """The results of the nodes after an If with one of its branches: types and known elements by name."""

    types: dict[str, Type] = field(default_factory=dict)
    elements: dict[str, Any] = field(default_factory=dict)
    error: TvmliteError | None = None

    def agrees(self, other: Outcome, name: str) -> bool:
        """Whether the value ``name`` can be a result of a Relay If of both."""
        a, b = self.types.get(name), other.types.get(name)
        if not isinstance(a, TensorType) or not isinstance(b, TensorType):
            return False
        return (
            a.dtype == b.dtype
            and a.ndim == b.ndim
            and _same_elements(self.elements.get(name), other.elements.get(name))
        )

    def fits(self, wanted: Wanted) -> bool:
        """Whether all wanted values have their declared ranks."""
        pairs = [(rank, self.types.get(name)) for name, rank in wanted.items() if rank is not None]
        return all(isinstance(type_, TensorType) and type_.ndim == rank for rank, type_ in pairs)


def duplicate_tail(
    importer: Importer,
    branch: Undecided,
    rest: Sequence[Labelled],
    scope: Scope,
    opsets: Mapping[str, int],
    wanted: Wanted,
) -> list[Labelled]:
    """Convert the If ``branch``, the first of ``rest``, and the nodes after it; return the remaining ones.

    More and more nodes that depend on the If are converted with either branch, until the results agree.
    """
    tail = _dependent_nodes(importer, rest, scope, opsets)
    nested = sum(fact.tried for fact in importer.facts)
    tried, outcomes = 0, (Outcome(), Outcome())
    while tried < len(tail) and nested < MAX_NESTED:
        first, tried = tried + 1, min(2 * tried + INITIAL_TAIL, len(tail))
        part, read_later = tail[:tried], _names_read(tail[tried:])
        needed = {**dict.fromkeys(read_later), **wanted}
        then, otherwise = outcomes = (
            _try_branch(importer, branch, True, part, scope, opsets, needed),
            _try_branch(importer, branch, False, part, scope, opsets, needed),
        )
        for count in range(first, tried + 1):
            made = {name for _, proto in tail[:count] for name in proto.output if name}
            live = sorted(made & {*wanted, *read_later, *_names_read(part[count:])})
            if all(then.agrees(otherwise, name) for name in live):
                _emit_if(importer, branch, live, tail[:count], scope, opsets)
                known = {name: then.elements[name] for name in live if then.elements.get(name) is not None}
                importer.known.update((scope.values[name], elements) for name, elements in known.items())
                return tail[count:]
    is_main_graph = wanted is importer.wanted
    squeezed = (
        _squeezed_branch(branch, outcomes, wanted)
        if is_main_graph
        else _scalar_branch(branch, outcomes, wanted)
    )
    if squeezed is None:
        _commit_to_branch(importer, branch, outcomes, wanted)
        return tail
    special, axes = squeezed
    live = [name for _, proto in tail for name in proto.output if name in wanted]
    _emit_if(importer, branch, live, tail, scope, opsets, (special, axes))
    for name, one in axes.items() if is_main_graph else ():
        importer.squeezed.setdefault(name, one)
    return []


def _squeezed_branch(
    branch: Undecided, outcomes: tuple[Outcome, Outcome], wanted: Wanted
) -> tuple[bool, dict[str, tuple[int, ...]]] | None:
    """Which branch lacks axes that the other's outputs have, and those axes by output; None if more differs.

    It lacks them exactly if they have extent 1, so that a caller who sees a 1 may remove them.
    """
    if branch.test is None or any(one.error is not None for one in outcomes):
        return None
    names = _disagreeing(outcomes, wanted)
    for special in (True, False):
        analyzer = arith.Analyzer()
        known = branch.fact(special).known
        assert known is not None
        analyzer.assume(known)
        axes: dict[str, tuple[int, ...]] = {}
        for name in names:
            types = [one.types.get(name) for one in outcomes]
            found = _missing_axes(types[not special], types[special], analyzer, known)
            if found:
                axes[name] = found
        if len(axes) == len(names):
            return special, axes
    return None


def _disagreeing(outcomes: tuple[Outcome, Outcome], wanted: Wanted) -> list[str]:
    """Those of ``wanted`` that depend on the branch and have different types in the two."""
    made = [name for name in wanted if any(name in one.types for one in outcomes)]
    return [name for name in made if not outcomes[0].agrees(outcomes[1], name)]


def _scalar_branch(
    branch: Undecided, outcomes: tuple[Outcome, Outcome], wanted: Wanted
) -> tuple[bool, dict[str, tuple[int, ...]]] | None:
    """As ``_squeezed_branch``, for a subgraph whose branch depends on the data: only scalars may differ.

    Exporters write flags and counts as ``()`` or ``(1,)`` without a rule.
    """
    if branch.test is not None or any(one.error is not None for one in outcomes):
        return None
    names = _disagreeing(outcomes, wanted)
    for special in (True, False):
        axes: dict[str, tuple[int, ...]] = {}
        for name in names:
            small, large = outcomes[not special].types.get(name), outcomes[special].types.get(name)
            if not isinstance(small, TensorType) or not isinstance(large, TensorType):
                return None
            ones = all(isinstance(n, int) and n == 1 for n in (*small.shape, *large.shape))
            if ones and small.dtype == large.dtype and small.ndim <= large.ndim:
                axes[name] = tuple(range(large.ndim - small.ndim))
        if len(axes) == len(names):
            return special, axes
    return None


def _missing_axes(
    special: Type | None, general: Type | None, analyzer: arith.Analyzer, known: e.Expr
) -> tuple[int, ...] | None:
    """The axes that only ``general`` has, if they are all 1 exactly where ``known`` holds."""
    if not isinstance(special, TensorType) or not isinstance(general, TensorType):
        return None
    mentioned = dims_of(known)
    axes = tuple(axis for axis, extent in enumerate(general.shape) if extent in mentioned)
    left = [extent for axis, extent in enumerate(general.shape) if axis not in axes]
    extents = [general.shape[axis] for axis in axes]
    same = len(left) == special.ndim and all(map(analyzer.equal, left, special.shape))
    if not axes or not same or special.dtype != general.dtype:
        return None
    ones = arith.Analyzer()
    for extent in extents:
        ones.assume(e.Equal(*e.match(e.convert(extent), 1)))
    return axes if ones.prove(known) and all(analyzer.equal(one, 1) for one in extents) else None


def _dependent_nodes(
    importer: Importer, rest: Sequence[Labelled], scope: Scope, opsets: Mapping[str, int]
) -> list[Labelled]:
    """Convert those of ``rest`` that depend on no undecided If, the first being one; return the others."""
    undecided: set[str] = set()
    tail: list[Labelled] = []
    for one in rest:
        label, proto = one
        depends = not tail or not undecided.isdisjoint(names_read(proto))
        if not depends:
            try:
                importer.convert_node(proto, scope, opsets, label)
            except Undecided:
                depends = True
        if depends:
            tail.append(one)
            undecided.update(name for name in proto.output if name)
    return tail


def _names_read(nodes: Iterable[Labelled]) -> set[str]:
    return {name for _, proto in nodes for name in names_read(proto)}


def _try_branch(
    importer: Importer,
    branch: Undecided,
    holds: bool,
    tail: Sequence[Labelled],
    scope: Scope,
    opsets: Mapping[str, int],
    wanted: Wanted,
) -> Outcome:
    """The types and elements that ``tail`` computes with one branch; the conversion is then discarded."""
    outcome = Outcome()
    inner = scope.copy()

    def make() -> list[Expr]:
        importer.facts.append(branch.fact(holds, tried=True))
        try:
            importer.convert(tail, inner, opsets, wanted)
        except TvmliteError as error:  # possibly no size selects this branch: see _commit_to_branch
            outcome.error = error
        for name in (name for _, proto in tail for name in proto.output if name in inner.values):
            value = inner.values[name]
            outcome.types[name] = type_of(value)
            outcome.elements[name] = _elements(importer, value)
        return []

    importer.block(make)
    return outcome


def _elements(importer: Importer, value: Expr) -> Any:
    """The elements of ``value`` that are known at import, or None."""
    if isinstance(value, Constant):
        return value.data if value.data.size <= MAX_KNOWN_ELEMENTS else None
    return importer.known.get(value)


def _same_elements(a: Any, b: Any) -> bool:
    """Whether known elements are the same: shape arithmetic that differs must stay inside a branch."""
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and all(
        dims.equal(x, y) if isinstance(x, e.Expr) or isinstance(y, e.Expr) else x == y
        for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    )


def _emit_if(
    importer: Importer,
    branch: Undecided,
    live: Sequence[str],
    region: Sequence[Labelled],
    scope: Scope,
    opsets: Mapping[str, int],
    expanded: tuple[bool, Mapping[str, tuple[int, ...]]] = (True, {}),
) -> None:
    """Compute the values ``live`` of ``region`` in a Relay If, and add them to ``scope``.

    ``expanded`` is the branch whose values get axes of 1 that the other's have, and these axes.
    """

    def side(holds: bool) -> list[Expr]:
        inner = scope.copy()
        importer.facts.append(branch.fact(holds, tried=True))
        importer.convert(region, inner, opsets, dict.fromkeys(live))
        added = expanded[1] if holds == expanded[0] else {}
        return [_with_axes(branch.node, inner.values[name], added.get(name, ())) for name in live]

    if live:
        made = make_if(branch.node, branch.condition, branch.test, [lambda: side(True), lambda: side(False)])
        scope.values.update(zip(live, made, strict=True))


def _with_axes(node: OnnxNode, value: Expr, axes: Sequence[int]) -> Expr:
    """``value`` with additional axes of extent 1 at ``axes``."""
    shape: list[Dim] = list(node.shape(value))
    for axis in axes:
        shape.insert(axis, 1)
    return node.reshape(value, shape)


def _commit_to_branch(
    importer: Importer, branch: Undecided, outcomes: tuple[Outcome, Outcome], wanted: Wanted
) -> None:
    """Compile one branch; a run whose condition selects the other stops."""
    errors = [one.error for one in outcomes]
    if errors[0] is not None and errors[1] is not None:
        raise errors[0]
    if errors[0] is None and errors[1] is None:
        holds = _is_then_likelier(branch, outcomes, wanted)
        reason = _difference(outcomes[holds], outcomes[not holds], wanted)
    else:
        holds = errors[0] is None
        error = errors[1] or errors[0]
        assert error is not None
        reason = f"with which the model cannot be imported: {error.message}"
    node, test = branch.node, branch.test
    chosen = "else_branch" if holds else "then_branch"
    message = f"the data choose its {chosen}, {reason}"
    if test is not None:
        message = f"the sizes choose its {chosen}, as {branch.fact(not holds).known}, {reason}"
    else:
        flag = node.cast(node.reshape(branch.condition, (1,)), "int64")
        test = e.NotEqual(*e.match(bind_dims(node, flag, ["condition"])[0], 0))
    check_condition(node, test if holds else e.Not(test), message)
    importer.facts.append(branch.fact(holds))


def _is_then_likelier(branch: Undecided, outcomes: tuple[Outcome, Outcome], wanted: Wanted) -> bool:
    """Whether to compile the first branch: by declared ranks, else if most sizes select it."""
    fits = [one.fits(wanted) for one in outcomes]
    if fits[0] != fits[1]:
        return fits[0]
    test, holds = branch.test, True
    while isinstance(test, e.Not):
        test, holds = test.a, not holds
    if test is None:
        branch.node.unsupported("branches of different types, chosen by the data")
    return not holds if isinstance(test, e.Equal) else holds


def _difference(left_out: Outcome, taken: Outcome, wanted: Wanted) -> str:
    """How the outputs of two branches differ."""
    for name in wanted:
        types = left_out.types.get(name), taken.types.get(name)
        if None not in types and not left_out.agrees(taken, name):
            return f"where {name!r} is {types[0]}; the compiled branch has {types[1]}"
    return "which is of other types than the one that is compiled"
