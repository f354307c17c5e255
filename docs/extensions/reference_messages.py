"""The page of all messages: each error that the package raises, found in its syntax trees."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from reference_text import first_sentence, heading, literal, table

PACKAGE = Path(__file__).parents[2] / "tvmlite"

ACTIVITIES = {
    "Importing an ONNX model": ("relay/onnx/", "relay/frontend.py"),
    "Making a graph, and its types": ("relay/ir/", "relay/ops/", "relay/__init__.py", "techniques/"),
    "Reading and writing Relay text": ("relay/text/",),
    "Running passes": ("relay/passes/", "relay/transform.py", "core/pipeline.py"),
    "Quantizing": ("relay/quantize/", "tuning/layer_precision/"),
    "Writing a tensor expression": ("te/expr/", "te/tensor/", "te/intrin/", "te/arith/", "tvm/"),
    "Writing a schedule": ("te/schedule/", "te/templates/", "te/visualizer/"),
    "Lowering a schedule": ("te/lowering/", "te/loop/"),
    "Choosing a target": ("machine/", "core/config.py"),
    "Compiling": ("driver.py", "te/codegen/", "relay/entry/", "model/", "core/"),
    "Calling a compiled function": ("runtime/",),
    "Exporting and loading libraries": ("runtime/library/", "model/export.py", "model/standalone.py"),
    "Tuning": ("autotune/", "te/space/", "tuning/"),
    "On the command line": ("commands/", "graph_page/", "fuzz/", "cli.py"),
}
"""What a user does, and the files that raise errors then; the longest beginning of a path decides."""

ELSEWHERE = "Elsewhere"

HELPERS = {
    "fault": ("TypeInferError", "{operator}: %1"),
    "unsupported": ("UnsupportedError", "{operator}: %0"),
    "bad": ("ModelError", "{operator}: %0"),
    "error": ("ScheduleError", "%0: axis {axis} of stage {stage} %1"),
    "refused": ("TensorExpressionError", "%0: {value} given, expected %2"),
}
"""Functions that make errors: of which class, and what text of their arguments."""


NAMED = HELPERS.keys() - {"error"}
"""Those whose name says the same in every module."""


def hole(node: ast.expr) -> str:
    """A short name of what is filled in."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name.strip("_").lower()
        case ast.Call(args=[*_, ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() as last]):
            return hole(last)
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as value)):
            return hole(value)
        case ast.Call(func=function):
            return hole(function)
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return hole(value)
        case _:
            return "..."


Bound = Mapping[str, ast.expr]
"""What the names of parameters stand for, where that is known."""


def template(node: ast.expr, bound: Bound = MappingProxyType({})) -> str:
    """A message as it is written, with what is filled in named in braces; names that are ``bound`` to words
    are those."""
    match node:
        case ast.Constant(value):
            return str(value)
        case ast.JoinedStr(values):
            return "".join(template(one, bound) for one in values)
        case ast.BinOp(left, _, right):
            return template(left, bound) + template(right, bound)
        case ast.IfExp(_, body, _):
            return template(body, bound)
        case ast.Name(name) | ast.FormattedValue(ast.Name(name)) if name in bound and _has_words(bound[name]):
            return template(bound[name])
        case ast.FormattedValue(value):
            return "{" + hole(value) + "}"
        case _:
            return "{" + hole(node) + "}"


def messages(errors: set[str]) -> Iterator[tuple[str, str, str]]:
    """The class, file and text of every error that the package raises."""
    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        makers = _makers(tree, errors)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                name, text = _made_by(node, makers) or _message(node, errors)
                if re.search(r"[a-z]{3}", re.sub(r"\{[^}]*\}", "", text)):
                    yield name, file, " ".join(text.split())


def _makers(tree: ast.AST, errors: set[str]) -> dict[str, tuple[str, ast.expr, list[str]]]:
    """The functions of a module that make an error's text of their parameters, or only a text: by name, the
    class, the text, and the parameters. A text alone is that of a check in compiled code."""
    found = {}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = [one.arg for one in function.args.args if one.arg not in ("self", "cls")]
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and node.args:
                name = ast.unparse(node.func).rpartition(".")[2]
                used = {one.id for one in ast.walk(node.args[0]) if isinstance(one, ast.Name)}
                if name in errors and used & set(names) and function.name not in NAMED:
                    found[function.name] = name, node.args[0], names
        match function.body[-1]:
            case ast.Return(ast.JoinedStr() as text) if "message" in function.name:
                found.setdefault(function.name, ("ExecutionError", text, names))
    return found


def _made_by(call: ast.Call, makers: Mapping[str, tuple[str, ast.expr, list[str]]]) -> tuple[str, str] | None:
    """The class and the text of the error that a function of the module makes for ``call``, if it does."""
    name = ast.unparse(call.func).rpartition(".")[2]
    if name not in makers or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    made, text, names = makers[name]
    given = dict(zip(names, call.args, strict=False))
    given |= {one.arg: one.value for one in call.keywords if one.arg}
    return made, template(text, given)


def _message(call: ast.Call, errors: set[str]) -> tuple[str, str]:
    """The class and the text of the error that ``call`` makes; an empty text if it makes none."""
    name = ast.unparse(call.func).rpartition(".")[2]
    if name in errors:
        return name, template(call.args[0])
    if name == "Assert" and len(call.args) == 2:  # a check in compiled code
        return "ExecutionError", template(call.args[1])
    if name in HELPERS:
        made, text = HELPERS[name]
        wanted = [number for number in range(3) if f"%{number}" in text]
        if max(wanted) < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args):
            for number in wanted:
                text = text.replace(f"%{number}", template(call.args[number]))
            plain = text.count("{") < len(text.split())
            return made, text if plain and _has_words(call.args[max(wanted)]) else ""
    return "", ""


def _has_words(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in ast.walk(node))


def activity_of(file: str) -> str:
    """What a user does where ``file`` raises an error."""
    found = [
        (len(begin), title)
        for title, begins in ACTIVITIES.items()
        for begin in begins
        if file.startswith(begin)
    ]
    return max(found)[1] if found else ELSEWHERE


def messages_page() -> str:
    """Every message, by what the user was doing, and by the class of its error."""
    from tvmlite.core import errors

    classes = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.TvmliteError)
    }
    found: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for name, file, text in messages(set(classes)):
        found[activity_of(file)][name][text] = None
    page = heading("Messages")
    page += (
        "Every error that a user can meet is a ``tvmlite.TvmliteError``. What stands in braces is filled in: "
        "search for the words around it. The last line of a message leads to the user's own line, or to "
        "the node of the model; a *hint* says what to do.\n\n"
    )
    rows = [(f"``{name}``", first_sentence(value.__doc__) + ".") for name, value in classes.items()]
    page += table(rows, ("class", "meaning"))
    for title in (*ACTIVITIES, ELSEWHERE):
        if title in found:
            page += heading(title, "-")
            for name in sorted(found[title]):
                page += f"``{name}``\n\n"
                page += "".join(f"- {literal(text)}\n" for text in sorted(found[title][name])) + "\n"
    return page
