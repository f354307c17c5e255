"""The calling convention of a function in loop IR, as a ``core.abi`` signature."""

from __future__ import annotations

from tvmlite.core.abi import symbols
from tvmlite.core.abi.signature import Kind, Parameter, Signature
from tvmlite.te import expr as e
from tvmlite.te.loop import ir


def signature_of(function: ir.Function) -> Signature:
    """The parameters of ``function``: params, sizes, then workspace, threads and profile if it has them.

    An extent in a parameter's shape is an int, the name of the size or scalar that it equals, or None if
    only ``NAME_shapes`` can compute it. ``workspace`` is None if it depends on a size or on the threads.
    """
    wanted: dict[object, str] = {p: p.name for p in (*function.params, *function.sizes)}
    has_workspace = function.workspace is not None
    if has_workspace:
        wanted |= {"workspace": "workspace", "threads": "threads"}
    if function.dynamic_outputs is not None:
        wanted |= {function.dynamic_outputs: "dynamic_outputs", ir.CAPACITY: "capacity"}
    if function.kernels:
        wanted["profile"] = "profile"
    names = symbols.unique_names(wanted)
    parameters = _in_order(function, names)
    parameters += [Parameter(names[v], "size") for v in function.sizes]
    if has_workspace:
        parameters.append(Parameter(names["workspace"], "workspace"))
        parameters.append(Parameter(names["threads"], "threads"))
    if function.dynamic_outputs is not None:
        parameters.append(Parameter(names[function.dynamic_outputs], "dynamic_outputs"))
        parameters.append(Parameter(names[ir.CAPACITY], "capacity"))
    if function.kernels:
        parameters.append(Parameter(names["profile"], "profile"))
    return Signature(
        function.name,
        tuple(parameters),
        _static_bytes(function.workspace),
        function.messages,
        function.kernels,
        int(dict(function.attrs).get("constants", 0)),
    )


def _in_order(function: ir.Function, names: dict[object, str]) -> list[Parameter]:
    """The array and scalar parameters of ``function``; with data-dependent outputs, all outputs come last."""
    found = [one for one in function.outputs if one not in function.params]
    if not found:
        return [_parameter(p, function, names) for p in function.params]
    made = [_parameter(p, function, names) for p in function.params if p not in function.outputs]
    for output in function.outputs:
        if output in found:
            shape = tuple(_extent(x, function, names) for x in output.shape)
            made.append(Parameter(output.name, "found", output.dtype, shape))
        else:
            made.append(_parameter(output, function, names))
    return made


def _parameter(param: ir.Buffer | e.Var, function: ir.Function, names: dict[object, str]) -> Parameter:
    if isinstance(param, ir.Buffer):
        kind: Kind = "output" if param in function.outputs else "input"
        shape = tuple(_extent(x, function, names) for x in param.shape)
        shared = dict(dict(function.attrs).get("in_place", ())).get(param)
        in_place = "" if shared is None else names[shared]
        return Parameter(names[param], kind, param.narrow_dtype or param.dtype, shape, in_place)
    return Parameter(names[param], "scalar", param.dtype)


def _extent(extent: e.Expr, function: ir.Function, names: dict[object, str]) -> int | str | None:
    if isinstance(extent, e.Const):
        return int(extent.value)
    if isinstance(extent, e.Cast) and extent.dtype == e.INDEX and extent.value.dtype == "int32":
        extent = extent.value
    if isinstance(extent, e.Var) and extent in (*function.sizes, *function.params):
        return names[extent]
    return None


def _static_bytes(workspace: e.Expr | None) -> int | None:
    if workspace is None:
        return 0
    return int(workspace.value) if isinstance(workspace, e.Const) else None
