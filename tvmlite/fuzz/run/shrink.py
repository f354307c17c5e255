"""Shrinks a failing program: leaves out whatever it can while the program still fails in the same way."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tvmlite.fuzz.expected.values import KINDS
from tvmlite.fuzz.program import Program
from tvmlite.fuzz.run.worker_pool import Member


def shrink(
    program: Program,
    signature: str,
    backends: Sequence[str],
    seconds: float = 60.0,
    progress: Callable[[Program], object] = lambda program: None,
) -> Program:
    """Return the smallest program found within ``seconds`` that fails with ``signature``."""
    member, end = Member(30.0), time.monotonic() + seconds
    try:
        return _Shrinker(member, signature, backends, end, progress).run(program)
    finally:
        member.stop()


def failure(member: Member, program: Program, backends: Sequence[str]) -> tuple[str, str]:
    """Return the signature and the text of ``program``'s failure; empty if it does not fail."""
    for message in member.ask(program=program.to_fields(), backends=list(backends)):
        if "crash" in message:
            return f"{message['stage']}: crash", message["crash"]
        if "wrong" in message:
            return message["wrong"], message["text"]
    return "", ""


def failure_of(program: Program, backends: Sequence[str]) -> str:
    """Return what is wrong with ``program``, tried in a separate process."""
    member = Member(60.0)
    try:
        return ": ".join(part for part in failure(member, program, backends) if part) or "nothing is wrong"
    finally:
        member.stop()


class _Shrinker:
    def __init__(
        self,
        member: Member,
        signature: str,
        backends: Sequence[str],
        end: float,
        progress: Callable[[Program], object],
    ) -> None:
        self.member, self.signature, self.backends = member, signature, backends
        self.end, self.progress = end, progress
        self.tried: set[str] = set()

    def run(self, program: Program) -> Program:
        before = None
        while before != program and time.monotonic() < self.end:
            before = program
            for candidates in (_without_statements, self._placeholders, _simpler_settings, _simpler_nodes):
                program = self.improve(program, candidates)
        return program

    def improve(self, program: Program, candidates: Callable[[Program], Iterator[Program]]) -> Program:
        """Take the first candidate that fails, and search on from its position, until none fails."""
        better = True
        skip = 0
        while better and time.monotonic() < self.end:
            better = False
            for number, candidate in enumerate(candidates(program)):
                if number < skip or time.monotonic() > self.end:
                    continue
                if self.fails(candidate):
                    program, better, skip = candidate, True, number
                    self.progress(program)
                    break
            if not better and skip:
                better, skip = True, 0
        return program

    def fails(self, program: Program) -> bool:
        text = program.text()
        if text in self.tried or "create_schedule([])" in text:
            return False
        self.tried.add(text)
        return failure(self.member, program, self.backends)[0] == self.signature

    def _placeholders(self, program: Program) -> Iterator[Program]:
        """Yield programs with a stage replaced by placeholders."""
        tensors: dict[str, list[str]] = {}
        for message in self.member.ask(describe=program.to_fields()):
            tensors = message.get("tensors", tensors)
        for place in range(len(program.body) - 1, -1, -1):
            statement = program.body[place]
            names = _targets(ast.parse(statement).body[0])
            if "te.compute(" not in statement and "te.extern(" not in statement:
                continue
            if all(name in tensors for name in names):
                made = [
                    f'{n} = te.placeholder(({tensors[n][0]},), "{tensors[n][1]}", name="{n}")' for n in names
                ]
                made = [line.replace("((,)", "(()").replace("(,)", "()") for line in made]
                body = [*program.body[:place], *made, *program.body[place + 1 :]]
                yield program.with_body(_outputs_computed(body, set(names)))


def _outputs_computed(body: list[str], given: set[str]) -> list[str]:
    """Remove from the schedule's outputs those that are placeholders now."""
    done = []
    for line in body:
        if line.startswith("s = te.create_schedule("):
            outputs = line[line.index("[") + 1 : line.index("]")].split(", ")
            outputs = [o for o in outputs if o.removesuffix(".op") not in given]
            line = f"s = te.create_schedule([{', '.join(outputs)}])"
        done.append(line)
    return done


def _targets(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(statement, ast.FunctionDef):
        return [statement.name]
    found: list[str] = []
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        found += [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
    return found


def _uses(statement: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(statement)) if isinstance(node, ast.Name)}


def _without(body: Sequence[str], place: int) -> tuple[str, ...]:
    """Return ``body`` without a statement and all that depend on it."""
    gone = set(_targets(ast.parse(body[place]).body[0]))
    kept = list(body[:place])
    for line in body[place + 1 :]:
        if _uses(line) & gone and not line.startswith("s = te.create_schedule("):
            gone |= set(_targets(ast.parse(line).body[0]))
        else:
            kept.append(line)
    return tuple(_outputs_computed(kept, gone))


def _without_statements(program: Program) -> Iterator[Program]:
    body = program.body
    start = next((n for n, line in enumerate(body) if line.startswith("s = te.create_schedule(")), 0)
    yield program.with_body(body[: start + 1])
    for size in (8, 4, 2):
        for place in range(len(body) - size, start, -size):
            shorter = body
            for n in range(place + size - 1, place - 1, -1):
                shorter = _without(shorter, n) if n < len(shorter) else shorter
            yield program.with_body(shorter)
    for place in range(len(body) - 1, -1, -1):
        if place != start:
            yield program.with_body(_without(body, place))
            yield from _first_for_source(program, place)
    line = body[start]
    outputs = line[line.index("[") + 1 : line.index("]")].split(", ")
    for one in outputs if len(outputs) > 1 else ():
        rest = ", ".join(o for o in outputs if o != one)
        for kept in (one, rest):
            changed = (*body[:start], f"s = te.create_schedule([{kept}])", *body[start + 1 :])
            yield program.with_body(changed)


def _first_for_source(program: Program, place: int) -> Iterator[Program]:
    """Yield programs without a split, fuse or cache, with its operand in place of one of its results."""
    statement = ast.parse(program.body[place]).body[0]
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return
    names = [a.id for a in statement.value.args if isinstance(a, ast.Name)]
    targets = _targets(statement)
    for target in targets if names else ():
        renamed = [_renamed(line, target, names[0]) for line in program.body[place + 1 :]]
        yield program.with_body(_without((*program.body[: place + 1], *renamed), place))


def _renamed(statement: str, old: str, new: str) -> str:
    tree = ast.parse(statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return ast.unparse(tree)


def _simpler_settings(program: Program) -> Iterator[Program]:
    for kind in KINDS[: KINDS.index(program.data)]:
        yield replace(program, data=kind)
    if program.target != "native":
        yield replace(program, target="native")
    if program.seed:
        yield replace(program, seed=0)
    for place, (name, value) in enumerate(program.sizes):
        for less in (0, 1, 2, value // 2, value - 1):
            if 0 <= less < value:
                sizes = list(program.sizes)
                sizes[place] = (name, less)
                yield replace(program, sizes=tuple(sizes))
    used = set().union(*map(_uses, program.body))
    if any(name not in used for name, _ in program.sizes):
        yield replace(program, sizes=tuple(pair for pair in program.sizes if pair[0] in used))
    if program.sizes:
        fixed = [f"{name} = {value}" for name, value in program.sizes]
        rest = [line for line in program.body if "te.var(" not in line and "te.size_var(" not in line]
        yield replace(program.with_body([*fixed, *rest]), sizes=())


def _simpler_nodes(program: Program) -> Iterator[Program]:
    """Yield programs with expressions replaced by parts of them, smaller numbers, or fewer arguments."""
    for place in range(len(program.body) - 1, -1, -1):
        tree = ast.parse(program.body[place])
        for change in range(sum(1 for _ in _changes(tree))):
            changed = copy.deepcopy(tree)
            for number, apply in enumerate(_changes(changed)):
                if number == change:
                    apply()
                    break
            body = list(program.body)
            body[place] = ast.unparse(changed)
            yield program.with_body(body)


def _changes(tree: ast.AST) -> Iterator[Callable[[], None]]:
    """Yield functions that each simplify something in a statement."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for part in _parts(value):
                    yield lambda node=node, name=name, part=part: setattr(node, name, part)
            elif isinstance(value, list):
                for place, one in enumerate(value):
                    if isinstance(one, ast.expr):
                        for part in _parts(one):
                            yield lambda value=value, place=place, part=part: value.__setitem__(place, part)
                        if len(value) > 1 and not isinstance(node, (ast.Assign, ast.Compare)):
                            yield lambda value=value, place=place: value.pop(place)
                    elif isinstance(one, ast.keyword) and one.arg not in ("name", "axis"):
                        yield lambda value=value, place=place: value.pop(place)


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return simpler expressions that may replace ``node``."""
    match node:
        case ast.BinOp(left, _, right):
            return [left, right]
        case ast.Compare(left, _, [right]):
            return [left, right]
        case ast.UnaryOp(_, operand):
            return [operand]
        case ast.Call(ast.Attribute(value=ast.Name(id="te")), args):
            return [a for a in args if not isinstance(a, (ast.Lambda, ast.Tuple, ast.List))]
        case ast.Call(ast.Attribute(value=inner)):
            return [inner]
        case ast.Constant(value) if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            smaller = sorted({0, 1, 2, value // 2, value - 1})
            return [ast.Constant(n) for n in smaller if n < value]
        case ast.Constant(value) if isinstance(value, str) and value in (
            "int8",
            "float64",
            "bfloat16",
            "int16",
        ):
            return [ast.Constant("float32"), ast.Constant("int32")]
        case ast.Subscript(_, ast.Name()):
            return [ast.Constant(1)]
    return []
