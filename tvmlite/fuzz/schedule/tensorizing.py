"""Random uses of ``tensorize``: the intrinsic is declared with the stage's own formula, over tiles."""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvmlite import te
from tvmlite.fuzz.schedule.arranger import Arranger
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor import tensor as t

LARGEST = 128
"""The largest number of iterations that an intrinsic replaces."""


@dataclass(frozen=True)
class Formula:
    """A compute as written in the program: the names of its axes and reduce axes, and the axes by which it
    reads each tensor.
    """

    names: str
    axes: tuple[str, ...]
    reduced: tuple[str, ...]
    body: ast.expr
    reads: Mapping[str, tuple[str, ...]]

    @property
    def text(self) -> str:
        """The formula as Python source."""
        return ast.unparse(self.body)


def tensorize(a: Arranger, stage: Stage) -> None:
    """Replace tiles of all the stage's loops by an intrinsic."""
    formula = _formula(a, stage)
    if formula is None or stage.relations or stage.tensorized is not None or stage.layout is not None:
        return
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    loops = (*op.axis, *op.reduce_axis)
    if len(formula.axes) != len(op.axis) or len(formula.reduced) != len(op.reduce_axis) or not loops:
        return
    sizes = [_factor(a, axis) for axis in loops]
    if math.prod(sizes) > LARGEST:
        return
    name = a.fresh("intrin")
    a.attempt(
        "", _declared(a, name, formula, dict(zip((*formula.axes, *formula.reduced), sizes, strict=True)))
    )
    outer, inner = [], []
    for axis, size in zip(loops, sizes, strict=True):
        label = a.label(stage, axis)
        parts = a.fresh(f"{label}o"), a.fresh(f"{label}t")
        a.attempt("", f"{', '.join(parts)} = s[{a.tensor(stage)}].split({label}, factor={size})")
        a.note(parts, (max(1, a.extent(axis) // size), size), (a.is_fixed(axis), True))
        outer.append(parts[0])
        inner.append(parts[1])
    a.rnd.shuffle(outer)
    a.attempt("", f"s[{a.tensor(stage)}].reorder({', '.join([*outer, *inner])})")
    a.attempt("tensorize", f"s[{a.tensor(stage)}].tensorize({inner[0]}, {name}())")


def _factor(a: Arranger, axis: te.IterVar) -> int:
    """Return the number of a loop's iterations in the intrinsic: mostly a divisor of its extent."""
    if not a.is_fixed(axis) or a.extent(axis) == 0:
        return 1
    extent = a.extent(axis)
    if a.rnd.random() < 0.05:
        return a.rnd.randint(1, 4)
    return a.rnd.choice([n for n in range(1, min(extent, 16) + 1) if extent % n == 0])


def _formula(a: Arranger, stage: Stage) -> Formula | None:
    """Return the stage's formula, if it reads each tensor by axes alone and uses them for nothing else."""
    names = {name for name, x in a.names.items() if isinstance(x, te.Tensor) and x.op is stage.origin_op}
    for line in a.lines:
        made = _cached(line)
        if made is not None and made[1] in names:
            return None
        if made is not None and made[0] in names:
            names = {made[1]}
    for line in a.lines:
        tree = ast.parse(line).body[0]
        if (
            not isinstance(tree, ast.Assign)
            or ".compute(" not in line
            or not names & set(_words(tree.targets[0]))
        ):
            continue
        match tree.value:
            case ast.Call(ast.Attribute(attr="compute"), [_, ast.Lambda() as function]):
                return _read(a, ast.unparse(tree.targets[0]), function)
    return None


def _cached(line: str) -> tuple[str, str] | None:
    """Return the first result and the first operand of a ``cache_write``; None for other lines."""
    if ".cache_write(" not in line:
        return None
    tree = ast.parse(line).body[0]
    assert isinstance(tree, ast.Assign)
    assert isinstance(tree.value, ast.Call)
    return _words(tree.targets[0])[0], _words(tree.value.args[0])[0]


def _words(tree: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _read(a: Arranger, names: str, function: ast.Lambda) -> Formula | None:
    axes = [one.arg for one in function.args.args]
    reduced: list[str] = []
    reads: dict[str, tuple[str, ...]] = {}
    other_names: list[str] = []

    def visit(node: ast.AST) -> bool:
        match node:
            case ast.keyword(arg="init"):
                return False
            case ast.keyword(arg="axis", value=value):
                reduced.extend(_words(value))
                return True
            case ast.Subscript(ast.Name(name), place) if isinstance(a.names.get(name), te.Tensor):
                at = place.elts if isinstance(place, ast.Tuple) else [place]
                words = tuple(one.id for one in at if isinstance(one, ast.Name))
                is_simple = len(words) == len(at) == len(set(words))
                return is_simple and reads.setdefault(name, words) == words
            case ast.Name(name):
                other_names.append(name)
        return all(map(visit, ast.iter_child_nodes(node)))

    if not visit(function.body) or {*axes, *reduced, *a.sizes} & set(other_names):
        return None
    if any(word not in (*axes, *reduced) for words in reads.values() for word in words):
        return None
    made = a.names[names.partition(",")[0].strip("() ")]
    if not {a.names[name] for name in reads} <= set(made.op.inputs):  # x * 0 is 0, and reads nothing
        return None
    return Formula(names, tuple(axes), tuple(reduced), function.body, reads)


def _declared(a: Arranger, name: str, formula: Formula, sizes: Mapping[str, int]) -> str:
    """Return a function that declares the intrinsic, with loops from its formula or hand-written ones."""
    strided = a.rnd.random() < 0.8
    lines, binds = [], []
    for tensor, words in formula.reads.items():
        shape = f"({''.join(f'{sizes[word]}, ' for word in words)})"
        given = f'{shape}, "{a.names[tensor].dtype}", name="{tensor}"'
        lines.append(f"{tensor} = te.placeholder({given})")
        if strided and words:
            binds.append(f"{tensor}: te.decl_buffer({given}, strides=[{_strides(len(words))}])")
    lines += [f'{k} = te.reduce_axis((0, {sizes[k]}), name="{k}")' for k in formula.reduced]
    shape = f"({''.join(f'{sizes[axis]}, ' for axis in formula.axes)})"
    lines.append(f'made = te.compute({shape}, lambda {", ".join(formula.axes)}: {formula.text}, name="made")')
    outputs = [f"made[{n}]" for n in range(formula.names.count(",") + 1)]
    outputs = outputs if len(outputs) > 1 else ["made"]
    for one in outputs if strided and formula.axes else ():
        steps = f'name="{one}", strides=[{_strides(len(formula.axes))}]'
        binds.append(f"{one}: te.decl_buffer({shape}, {one}.dtype, {steps})")
    emit = _emitted(a, formula, sizes)
    given = [f"{outputs[0]}.op", *(["emit"] if emit else []), f"binds={{{', '.join(binds)}}}"]
    lines += [*emit, f"return te.decl_tensor_intrin({', '.join(given)})"]
    return f"def {name}():\n" + textwrap.indent("\n".join(lines), "    ")


def _strides(rank: int) -> str:
    return ", ".join(f'te.var("s{n}")' for n in range(rank))


def _emitted(a: Arranger, formula: Formula, sizes: Mapping[str, int]) -> Sequence[str]:
    """For a plain sum, sometimes return hand-written loops: body, reset and update, or fewer of them."""
    match formula.body:
        case ast.Call(ast.Attribute(attr="sum"), [source], [ast.keyword(arg="axis")]):
            term = ast.unparse(source)
        case _:
            return []
    if a.rnd.random() < 0.4 or not formula.axes:
        return []
    place = ", ".join(formula.axes)
    text = ["def emit(ins, outs):", "    def loops(starts, adds):", "        ib = te.ir_builder.create()"]
    text.append("        named, out = {x.name: ib.buffer_ptr(x) for x in ins}, ib.buffer_ptr(outs[0])")
    text += [f'        {name} = named["{name}"]' for name in formula.reads]
    indent = " " * 8
    for axis in formula.axes:
        text.append(f"{indent}with ib.for_range(0, {sizes[axis]}) as {axis}:")
        indent += "    "
    text += [f"{indent}if starts:", f"{indent}    out[{place}] = te.const(0, out.dtype)", f"{indent}if adds:"]
    for axis in formula.reduced:
        indent += "    "
        text.append(f"{indent}with ib.for_range(0, {sizes[axis]}) as {axis}:")
    text += [f"{indent}    out[{place}] = out[{place}] + {term}", "        return ib.get()"]
    form = a.rnd.choice(("whole, reset, more", "whole, reset, more", "whole, None, more", "whole"))
    text.append("    whole, reset, more = loops(True, True), loops(True, False), loops(False, True)")
    return [*text, f"    return {form}"]
