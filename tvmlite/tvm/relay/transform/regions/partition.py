"""``PartitionGraph``: moves each region into a function of the module."""

from __future__ import annotations

import re
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.relay.ir import nodes
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.transform import Pass, PassContext, PassInfo, Sequential, called
from tvmlite.tvm.registry import get_global_func
from tvmlite.tvm.relay.expr import Call, Function, GlobalVar, Tuple, TupleGetItem, Var, adopt
from tvmlite.tvm.relay.graph.regions import (
    DEFAULT,
    END,
    AnnotatedRegion,
    AnnotatedRegionSet,
    compiler_of,
    is_mark,
    marked,
)
from tvmlite.tvm.relay.graph.visit import rebuilt, rewritten
from tvmlite.tvm.relay.transform.functions import is_for_another_compiler
from tvmlite.tvm.relay.transform.infer_type import InferType, typed


def PartitionGraph(mod_name: str = "default", bind_constants: bool = True) -> Pass:
    """A pass that moves each region into a function of the module with the attribute ``Compiler``, which is
    called by name. The names begin with ``tvmgen_`` and ``mod_name``. With ``bind_constants``, a region's
    constant arguments are moved into its function. Regions for ``default`` stay in place, without marks."""
    prefix = f"tvmgen_{mod_name}_" if mod_name else "tvmgen_"

    def run(mod: IRModule, context: PassContext) -> IRModule:
        made = typed(mod)
        for var, function in list(made.functions.items()):
            if isinstance(function, nodes.Function) and not is_for_another_compiler(function):
                plain = rewritten(rewritten(function, _without_default), _with_ends_of_fields)
                partitioner = _Partitioner(plain, f"_{var.name}_", prefix, bind_constants)
                made[var] = partitioner.partitioned()
                for name, one in partitioner.functions.items():
                    if name in made:
                        raise InputError(f"PartitionGraph: there is a function @{name} already")
                    made[name] = one
        return made

    partition = Pass(PassInfo(0, "PartitionGraph"), run)
    return Sequential([partition, InferType()], name="PartitionGraph")


def _without_default(node: Any) -> Any:
    return node.args[0] if is_mark(node) and compiler_of(node) == DEFAULT else node


def _with_ends_of_fields(node: Any) -> Any:
    """Replace the end mark around a tuple by end marks around its fields, which become results."""
    if is_mark(node, END) and isinstance(node.args[0], nodes.Tuple):
        return Tuple([marked(END, one, compiler_of(node)) for one in node.args[0].fields], node.span)
    return node


class _Partitioner:
    """Moves the regions of a function into separate ``functions``, by name."""

    def __init__(self, function: Any, middle: str, prefix: str, bind_constants: bool) -> None:
        self._function, self._bind_constants = adopt(function), bind_constants
        self._regions = AnnotatedRegionSet(self._function)
        self._prefix, self._middle = prefix, middle
        self._made: dict[Any, Any] = {}
        self.functions: dict[str, Function] = {}

    def partitioned(self) -> Any:
        """The function with its regions replaced by calls."""
        done: set[AnnotatedRegion] = set()
        waiting: set[AnnotatedRegion] = set()
        for first in self._regions:
            stack = [first]
            while stack:
                region = stack[-1]
                left = [one for begin in region.args for one in self._regions.read_by(begin.args[0])]
                left = [one for one in left if one not in done]
                if left and region not in waiting:
                    waiting.add(region)
                    stack += left
                    continue
                if left:
                    raise InputError("PartitionGraph: regions depend on each other", region.rets[0].span)
                stack.pop()
                if region not in done:
                    done.add(region)
                    self._replace(region)
        return rebuilt(self._function, self._made)

    def _replace(self, region: AnnotatedRegion) -> None:
        """Make the function for ``region``, and record the replacements of its results."""
        results = list(dict.fromkeys(one.args[0] for one in region.rets))
        if not results:
            raise InputError(
                "PartitionGraph: a region that begins here does not end",
                region.args[0].span,
                "mark its results with compiler_end",
            )
        name = re.sub(r"\W", "_", f"{self._prefix}{region.target}{self._middle}{region.id}")
        params, args, inside = self._inputs(region)
        bodies = [rebuilt(one, inside) for one in results]
        function = Function(params, bodies[0] if len(bodies) == 1 else Tuple(bodies))
        self.functions[name] = _optimized(function, region.target).with_attr(
            {"global_symbol": name, "Primitive": 1, "Compiler": region.target, "Inline": 1}
        )
        call = Call(GlobalVar(name), args)
        fields = [TupleGetItem(call, place) for place in range(len(results))] if results[1:] else [call]
        of_result = dict(zip(results, fields, strict=True))
        self._made.update({end: of_result[end.args[0]] for end in region.rets})

    def _inputs(self, region: AnnotatedRegion) -> tuple[list[Any], list[Any], dict[Any, Any]]:
        """The parameters of a region's function, the arguments of its call, and the replacements of the begin
        marks inside it. A value that enters several times is one parameter."""
        params: list[Any] = []
        args: list[Any] = []
        inside: dict[Any, Any] = {}
        of_value: dict[Any, Any] = {}
        for index, begin in enumerate(region.args):
            value = begin.args[0]
            while is_mark(value):
                value = value.args[0]
            if self._bind_constants and _is_constant(value):
                of_value[value] = value
            elif value not in of_value:
                name = f"{region.target}_{region.id}_i{index}"
                of_value[value] = Var(name, begin.checked_type, begin.span)
                params.append(of_value[value])
                args.append(rebuilt(begin.args[0], self._made))
            inside[begin] = of_value[value]
        return params, args, inside


def _is_constant(value: Any) -> bool:
    """Whether ``value`` is a constant or a non-empty tuple of constants."""
    if isinstance(value, nodes.Tuple):
        return bool(value.fields) and all(map(_is_constant, value.fields))
    return isinstance(value, nodes.Constant)


def _optimized(function: Function, compiler: str) -> Any:
    """``function`` after the registered function ``relay.ext.COMPILER.optimize``, if there is one, which is
    applied to a module of it."""
    optimize = get_global_func(f"relay.ext.{compiler}.optimize", allow_missing=True)
    if optimize is None:
        return function
    return called(optimize, typed(IRModule.from_expr(function)))["main"]
