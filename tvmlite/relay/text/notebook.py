"""The HTML of a graph in a notebook: inputs and outputs, operators, and the text, collapsed."""

from __future__ import annotations

from collections import Counter

from tvmlite.core.node import postorder
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Module
from tvmlite.relay.ir.types import TupleType, show_type
from tvmlite.show import html

MOST_TEXT = 200_000
"""The maximum number of characters of text in a notebook; ``print`` and ``tvmlite show`` print all of it."""


def module_html(module: Module) -> str:
    """Parameters and results with their types, operators by number of calls, and the Relay text."""
    nodes = {node for one in module.functions.values() for node in postorder(one.body)}
    calls = Counter(node.op for node in nodes if isinstance(node, Call) and isinstance(node.op, str))
    megabytes = sum(node.nbytes for node in nodes if isinstance(node, Constant)) / 1e6
    result = type_of(module.main.body)
    results = result.fields if isinstance(result, TupleType) else (result,)
    names = module.output_names or [f"output {place}" for place in range(len(results))]
    interface = [("input", param.name, show_type(type_of(param))) for param in module.main.params]
    interface += [("output", name, show_type(one)) for name, one in zip(names, results, strict=True)]
    summary = f"{sum(calls.values())} calls of {len(calls)} operators, {megabytes:.1f} MB of constants"
    operators = html.grid([("calls", "operator"), *((str(n), name) for name, n in calls.most_common())])
    text = module.astext(show_meta_data=False)
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}\n... {len(text) - MOST_TEXT} more characters"
    table = html.grid([("", "name", "type"), *interface])
    return html.paragraphs([summary]) + table + operators + html.collapsible("Relay text", text)


Module.as_html = module_html
