"""Store outputs that are inputs with some elements replaced in the inputs' memory, without a copy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder, rewrite
from tvmlite.relay.entry.memory import IN_PLACE
from tvmlite.relay.ir.nodes import Call, Expr, Module, Tuple, Var, canonical
from tvmlite.relay.ir.op import make


def update_in_place(module: Module, outputs: Mapping[str, str]) -> Module:
    """``module`` with each output of ``outputs`` in the memory of the input that it names.

    Such an output must be a ``tensor_scatter``, or a ``scatter_nd`` that replaces elements, of that input,
    and nothing else may read the input: a decoder step writes its keys and values into the cache this way. A
    call of the compiled library changes the array that is passed as the input and returns it as the output;
    if output arrays are passed as well, that one must be the same array. The elements that are kept cost no
    time. Earlier declarations of the module are kept.

    An InputError says which output or input does not fit, and why.
    """
    main = module.main
    fields = main.body.fields if isinstance(main.body, Tuple) else (main.body,)
    by_name = dict(zip(module.output_names, fields, strict=False))
    params = {param.name: param for param in main.params}
    updates: dict[Expr, Expr] = {}
    for output, name in outputs.items():
        for what, one, known in (("output", output, by_name), ("input", name, params)):
            if one not in known:
                raise InputError(f"update_in_place: there is no {what} {one!r}; there are {', '.join(known)}")
        updates[by_name[output]] = _checked_update(output, by_name[output], params[name], main.body)
    declared = {**dict(dict(module.attrs).get(IN_PLACE, ())), **outputs}
    if len(set(declared.values())) < len(declared):
        raise InputError("update_in_place: an input is the memory of two outputs, expected one")
    body = rewrite(main.body, lambda node: _as_cache_update(node, updates))
    attrs = {**dict(module.attrs), IN_PLACE: tuple(sorted(declared.items()))}
    return dataclasses.replace(module.with_main(dataclasses.replace(main, body=body)), attrs=canonical(attrs))


def _checked_update(output: str, value: Expr, param: Var, body: Expr) -> Expr:
    """``value``, after checking that it is an operator that replaces elements of ``param``."""
    match value:
        case Call("tensor_scatter" | "scatter_nd" | "cache_update", (data, *_)) if data is param:
            replaces = value.op != "scatter_nd" or value["mode"] == "update"
        case _:
            replaces = False
    if not replaces:
        what = f"a {value.op}" if isinstance(value, Call) else f"a {type(value).__name__}"
        raise InputError(
            f"update_in_place: output {output!r} is {what}, expected a tensor_scatter, or a scatter_nd that "
            f"replaces, of input {param.name!r}",
            getattr(value, "span", None),
        )
    readers = [node for node in postorder(body) if isinstance(node, Expr) and param in node.children()]
    if len(readers) > 1 or value.children().count(param) > 1:
        message = f"update_in_place: input {param.name!r} is read by more than output {output!r}"
        raise InputError(message, getattr(value, "span", None))
    return value


def _as_cache_update(node: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """Replace a ``tensor_scatter`` among ``values`` by an operator that writes only the update."""
    if isinstance(node, Call) and node.op == "tensor_scatter" and _is_one_of(node, values):
        return make("cache_update", *node.args, span=node.span, **dict(node.attrs))
    return node


def _is_one_of(node: Call, values: Mapping[Expr, Expr]) -> bool:
    """Whether ``node`` is one of ``values``, even if other arguments of it were rebuilt."""
    inputs = [value.args[0] for value in values if isinstance(value, Call)]
    return any(node.args[0] is one for one in inputs)
