"""ONNX's Einsum: pairs of its terms as batches of matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim, show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape, common_extent
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter


@converter("Einsum", since=12)
def einsum(node: OnnxNode, *inputs: Expr) -> Expr:
    """Sums of products by index letters: pairs are multiplied in order, as batches of matrices."""
    terms, result = _equation(node, inputs)
    terms = _of_common_extents(node, terms)
    terms = [_diagonal(node, letters, value) for letters, value in terms]
    while len(terms) > 1:
        (left, a), (right, b), *rest = terms
        kept = "".join(dict.fromkeys(result + "".join(letters for letters, _ in rest)))
        terms = [_contract(node, (left, a), (right, b), kept), *rest]
    letters, value = _summed(node, terms[0][0], terms[0][1], keep=result)
    if sorted(letters) != sorted(result):
        node.bad(f"equation {node.attr('equation')!r}: the result's letters are not those of the inputs")
    return node.transpose(value, [letters.index(c) for c in result])


def _diagonal(node: OnnxNode, letters: str, value: Expr) -> tuple[str, Expr]:
    """``value`` with axes that share a letter as one: of two taken as one, every (extent + 1)-th element."""
    while twice := [c for c in letters if letters.count(c) > 1]:
        first, second = [i for i, c in enumerate(letters) if c == twice[0]][:2]
        others = [i for i in range(len(letters)) if i not in (first, second)]
        shape = node.shape(value)
        extent = shape[first]
        if not isinstance(extent, int) or shape[second] != extent:
            node.unsupported(f"a diagonal of axes {shape[first]} and {shape[second]}")
        lead = [shape[i] for i in others]
        flat = node.reshape(node.transpose(value, [*others, first, second]), [*lead, extent * extent])
        value = node.make(
            "strided_slice",
            flat,
            begin=(0,),
            end=(extent * extent,),
            strides=(extent + 1,),
            axes=(len(others),),
        )
        letters = "".join(letters[i] for i in others) + twice[0]
    return letters, value


def _equation(node: OnnxNode, inputs: Sequence[Expr]) -> tuple[list[tuple[str, Expr]], str]:
    """Letters of each input and of the result; an ellipsis becomes capital-free letters of its own."""
    text = node.required("equation").replace(" ", "")
    left, arrow, right = text.partition("->")
    names = left.split(",")
    if len(names) != len(inputs):
        node.bad(f"equation {text!r} names {len(names)} inputs, {len(inputs)} are given")
    hidden = [
        node.rank(v) - len(n.replace("...", "")) if "..." in n else 0
        for n, v in zip(names, inputs, strict=True)
    ]
    extra = "".join(chr(0x100 + i) for i in range(max(hidden)))
    terms: list[tuple[str, Expr]] = []
    for name, value, count in zip(names, inputs, hidden, strict=True):
        letters = name.replace("...", extra[len(extra) - count :]) if count >= 0 else name
        if len(letters) != node.rank(value):
            node.bad(f"equation {text!r}: {name!r} does not fit shape {show_shape(node.shape(value))}")
        terms.append((letters, value))
    if arrow:
        return terms, right.replace("...", extra)
    every = "".join(letters for letters, _ in terms)
    return terms, extra + "".join(sorted(c for c in set(every) - set(extra) if every.count(c) == 1))


def _of_common_extents(node: OnnxNode, terms: list[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
    """``terms`` in which a letter is one extent, or 1; a run checks those that are not known to be equal."""
    shapes = [node.shape(value) for _, value in terms]
    met: dict[str, list[Dim]] = {}
    for (letters, _), shape in zip(terms, shapes, strict=True):
        for letter, extent in zip(letters, shape, strict=True):
            met.setdefault(letter, []).append(extent)
    size = {letter: common_extent(node, extents, shapes) for letter, extents in met.items()}
    fitted = []
    for (letters, value), shape in zip(terms, shapes, strict=True):
        wanted = (d if dims.equal(d, 1) else size[c] for c, d in zip(letters, shape, strict=True))
        fitted.append((letters, assume_shape(node, value, tuple(wanted))))
    return fitted


def _summed(node: OnnxNode, letters: str, value: Expr, keep: str) -> tuple[str, Expr]:
    """``value`` summed over the letters that are not in ``keep``."""
    axes = tuple(i for i, c in enumerate(letters) if c not in keep)
    if not axes:
        return letters, value
    return "".join(c for c in letters if c in keep), node.make("sum", value, axis=axes, keepdims=False)


def _contract(node: OnnxNode, left: tuple[str, Expr], right: tuple[str, Expr], kept: str) -> tuple[str, Expr]:
    """Two terms as one: shared kept letters are batches, shared other letters are summed."""
    one, a = _summed(node, *left, keep=kept + right[0])
    two, b = _summed(node, *right, keep=kept + left[0])
    batch = [c for c in one if c in two and c in kept]
    inner = [c for c in one if c in two and c not in kept]
    rows = [c for c in one if c not in two]
    columns = [c for c in two if c not in one]
    extents = {
        c: d
        for letters, v in ((two, b), (one, a))
        for c, d in zip(letters, node.shape(v), strict=True)
        if not dims.equal(d, 1)
    }
    size = {c: extents.get(c, 1) for c in one + two}
    a = node.transpose(a, [one.index(c) for c in batch + rows + inner])
    b = node.transpose(b, [two.index(c) for c in batch + inner + columns])
    a = node.broadcast_to(a, [size[c] for c in batch + rows + inner])
    b = node.broadcast_to(b, [size[c] for c in batch + inner + columns])
    flat = [node.product([size[c] for c in group]) for group in (batch, rows, inner, columns)]
    a, b = node.reshape(a, (flat[0], flat[1], flat[2])), node.reshape(b, (flat[0], flat[2], flat[3]))
    made = node.make("nn.batch_matmul", a, b, transpose_a=False, transpose_b=False)
    letters = "".join(batch + rows + columns)
    return letters, node.reshape(made, [size[c] for c in letters])
