"""``relay.build`` and ``relay.create_executor``: compile or evaluate a module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core.dtype import numpy_of
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.node import substitute
from tvmlite.core.span import Span, warn
from tvmlite.driver import compile as compile_model
from tvmlite.machine.target import Target
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.infer import type_of, walk
from tvmlite.relay.ir.types import TupleType
from tvmlite.runtime.ndarray import NDArray, cpu
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.ir import transform
from tvmlite.tvm.ir.module import IRModule, as_function
from tvmlite.tvm.relay import transform as passes
from tvmlite.tvm.relay.backend.factory import ExecutorFactoryModule
from tvmlite.tvm.relay.backend.interpreter import Closure, Interpreter
from tvmlite.tvm.relay.backend.specialized import has_unknown_extents, specialized
from tvmlite.tvm.relay.expr import Function, GlobalVar, Var, adopt, bind, const
from tvmlite.tvm.relay.graph.adopt import plain
from tvmlite.tvm.relay.graph.calls import calls_itself, inlined, to_core
from tvmlite.tvm.relay.graph.inputs import arrays_of, with_flat_parameters
from tvmlite.tvm.relay.graph.outputs import nested, with_flat_result
from tvmlite.tvm.relay.opt_level import level_in_force
from tvmlite.tvm.runtime.container import ADT

GraphExecutorFactory = ExecutorFactoryModule


def build(
    ir_mod: Any,
    target: Any = None,
    target_host: Any = None,
    executor: Any = None,
    runtime: Any = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> ExecutorFactoryModule:
    """Compile ``ir_mod`` for ``target``, with ``params`` as constants.

    The optimization level is that of the current ``PassContext``, or 3. If the context disables passes that
    tvmlite has, the level is lowered to the highest without them (2 for ``AlterOpLayout``; a warning for
    others). Disabled passes that it does not have, and ``required_pass``, are ignored with a warning.
    """
    for name, given in (
        ("workspace_memory_pools", workspace_memory_pools),
        ("constant_memory_pools", constant_memory_pools),
    ):
        if given is not None:
            raise UnsupportedError(f"relay.build: {name} is not supported", Span.of_caller())
    module = ir_mod if isinstance(ir_mod, IRModule) else IRModule.from_expr(as_function(ir_mod))
    one = target_of(target)
    model = prepared(module, params or {})
    lib = compile_model(model, one, opt_level=level_in_force(), name=_symbol(mod_name), records=_records(one))
    return ExecutorFactoryModule(lib, module, one, mod_name, params or {})


def optimize(
    mod: Any, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """Apply to ``mod``, with ``params`` as constants, the target-independent passes of the current level. The
    returned parameters are always empty."""
    portable = transform.Sequential(
        [
            passes.SimplifyInference(),
            passes.FoldConstant(),
            passes.EliminateCommonSubexpr(),
            passes.FoldScaleAxis(),
            passes.FastMath(),
        ]
    )
    made = portable(bound(mod if isinstance(mod, IRModule) else IRModule.from_expr(mod), params or {}))
    return made, {}


def bound(module: IRModule, params: Mapping[str, Any]) -> IRModule:
    """``module`` with constants for the parameters of ``main`` that are named in ``params``."""
    if not params:
        return module
    made = module.copy()
    made["main"] = bind_params_by_name(module["main"], params)
    return made


def bind_params_by_name(func: Any, params: Mapping[str, Any]) -> Any:
    """``func`` with constants for the parameters that are named in ``params``."""
    main = func
    names = [param.name for param in main.params]
    for name in params:
        if names.count(name) > 1:
            raise InputError(f"bind_params_by_name: there are {names.count(name)} parameters {name!r}")
    by_name = {param.name: param for param in main.params}
    plain = {
        name: value if isinstance(value, (int, float)) else np.asarray(value)
        for name, value in params.items()
    }
    values = {
        by_name[name]: const(value, getattr(value, "dtype", None))
        for name, value in plain.items()
        if name in by_name
    }
    kept = [param for param in main.params if param not in values]
    return Function(kept, adopt(substitute(main.body, values)), attrs=main.attrs)


def prepared(module: IRModule, params: Mapping[str, Any]) -> nodes.Module:
    """``module`` in the compiler's form: typed, with ``main`` as the only function and all calls inlined."""
    if "main" not in module:
        raise InputError("relay.build: the module has no function @main", hint='mod["main"] = function')
    core = to_core(passes.InferType()(bound(module, params)))
    functions = [one for one in walk(core.main) if isinstance(one, nodes.Function)]
    others = {str(dict(one.attrs).get("Compiler", "default")) for one in functions}
    for compiler in sorted(others - {"default"}):
        warn(f"relay.build: the functions that are for the compiler {compiler!r} are compiled by tvmlite")
    main = with_flat_parameters(with_flat_result(_with_own_names(inlined(core.main))))
    return nodes.Module({"main": plain(main)}, core.output_names, core.attrs)


def _with_own_names(main: nodes.Function) -> nodes.Function:
    """``main`` with its parameters renamed where several have one name."""
    taken: set[str] = set()
    renamed: dict[Any, Any] = {}
    for param in main.params:
        name, count = param.name, 0
        while name in taken:
            count += 1
            name = f"{param.name}{count}"
        taken.add(name)
        if name != param.name:
            renamed[param] = Var(name, param.type, param.span)
    if not renamed:
        return main
    params = tuple(renamed.get(param, param) for param in main.params)
    return nodes.Function(params, substitute(main.body, renamed), main.attrs, main.span)


def target_of(given: Any) -> Target:
    """The target for ``given``: a string, a target, or a dict or list of one; by default this machine."""
    if isinstance(given, Mapping):
        given = next(iter(given.values()), None)
    if isinstance(given, (list, tuple)):
        given = given[0] if given else None
    return targets.machine(given)


def _symbol(name: str) -> str:
    return "model" if name == "default" else name


def _records(target: Target) -> Any:
    """The records of the tuning logs in force, or None if the program has applied none (``autotvm``)."""
    tuned = sys.modules.get("tvmlite.tvm.tuned")
    return None if tuned is None else tuned.records_in_force(target) or None


class Executor:
    """Evaluates functions of a module; see ``create_executor``."""

    def __init__(self, kind: str, mod: IRModule, target: Any, params: Mapping[str, Any]) -> None:
        self.kind, self.mod, self.target, self._params = kind, mod, target, params

    def evaluate(self, expr: Any = None, binds: Any = None) -> Any:
        """A Python function of arrays that evaluates ``expr``, by default ``main``; if ``expr`` is not a
        function, its value. ``binds`` maps variables of ``expr`` to values."""
        if binds:
            expr = bind(
                expr,
                {
                    one: const(np.asarray(value), np.asarray(value).dtype)
                    if not isinstance(value, nodes.Expr)
                    else value
                    for one, value in dict(binds).items()
                },
            )
        if expr is None:
            return self._function(self.mod)
        if isinstance(expr, (str, GlobalVar)):
            main = self.mod[expr]
            return self._function(self._with(main))
        expr = getattr(expr, "tuple_value", expr) if not isinstance(expr, nodes.Expr) else expr
        if isinstance(expr, nodes.Function):
            return self._function(self._with(expr))
        return self._function(self._with(Function([], expr)))()

    def _with(self, function: Any) -> IRModule:
        made = self.mod.copy()
        made["main"] = function
        return made

    def _function(self, module: IRModule) -> Callable[..., Any]:
        known = bound(module, self._params)
        if "main" in known and has_unknown_extents(known["main"]):
            params, run = known["main"].params, self._for_each_shape(known)
        else:
            params, run = self._ready(module)
        names = [param.name for param in params]

        adapts = self.kind in ("graph", "aot")  # as in TVM, whose graph executor copies inputs

        def call(*args: Any, **named: Any) -> Any:
            left = names[len(args) :]
            if (
                len(args) > len(names)
                or not set(left) <= named.keys()
                or named.keys() & set(names[: len(args)])
            ):
                given = [*map(str, range(len(args))), *named]
                raise InputError(
                    f"evaluate: arguments {', '.join(given) or 'none'} given, "
                    f"expected {', '.join(names) or 'none'}"
                )
            unknown = sorted(named.keys() - set(left))
            if unknown:
                warn(f"evaluate: {', '.join(unknown)} given, which the function does not have")
            full = [*args, *(named[name] for name in left)]
            return results(
                run([_array(one, param.type, adapts) for one, param in zip(full, params, strict=True)])
            )

        return call

    def _ready(self, module: IRModule) -> tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]:
        """The parameters of ``main`` and a callable that runs it: compiled, or interpreted for ``"debug"``.
        For ``"vm"``, a module with a function that calls itself is interpreted, with a warning."""
        recursive = calls_itself(module) if self.kind == "vm" else None
        if recursive is not None:
            warn(f"create_executor: {recursive} calls itself: the module is interpreted")
        interprets = self.kind == "debug" or recursive is not None
        return self._interpreted(module) if interprets else self._compiled(module)

    def _for_each_shape(self, module: IRModule) -> Callable[[Sequence[Any]], Any]:
        """A callable that runs ``main``, specialized when a combination of shapes first occurs."""
        made: dict[Any, Callable[[Sequence[Any]], Any]] = {}

        def run(args: Sequence[Any]) -> Any:
            shapes = tuple(map(_shape, args))
            if shapes not in made:
                own = module.copy()
                own["main"] = specialized(module["main"], args)
                made[shapes] = self._ready(own)[1]
            return made[shapes](args)

        return run

    def _interpreted(self, module: IRModule) -> tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]:
        """The parameters of ``main`` and a callable that interprets it."""
        known = passes.InferType()(bound(module, self._params))
        main, interpreter = known["main"], Interpreter(known)

        def usable(value: Any) -> Any:
            """``value`` with Python functions of arrays for closures, and with its arrays copied, as numpy
            may return views of the arguments."""
            if isinstance(value, tuple):
                return tuple(map(usable, value))
            if not isinstance(value, Closure):
                return np.array(value)
            types = [param.type for param in value.function.params]

            def call(*args: Any) -> Any:
                arrays = [_array(one, type_, False) for one, type_ in zip(args, types, strict=False)]
                return results(usable(interpreter.apply(value, [*arrays, *args[len(arrays) :]])))

            return call

        return main.params, lambda args: usable(interpreter.run(main, args))

    def _compiled(self, module: IRModule) -> tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]:
        """The parameters of ``main`` and a callable that runs it compiled."""
        model = prepared(module, self._params)
        lib = compile_model(model, target_of(self.target), opt_level=level_in_force())
        main = passes.InferType()(bound(module, self._params))["main"]
        type_ = type_of(main.body)

        def run(args: Sequence[Any]) -> Any:
            return nested(lib(*(array for one in args for _, array in arrays_of("", one))), type_)

        return _with_own_names(main).params, run


def create_executor(
    kind: str = "debug",
    mod: Any = None,
    device: Any = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor for the functions of ``mod``. The kinds ``"graph"``, ``"vm"`` and ``"aot"`` compile;
    ``"debug"`` interprets operator by operator in numpy, as does ``"vm"`` if a function calls itself."""
    if kind not in ("debug", "graph", "vm", "aot"):
        raise RuntimeError(f"create_executor: kind is {show(kind)}, expected 'debug', 'graph', 'vm' or 'aot'")
    if device is not None and getattr(device, "device_type", 1) != cpu().device_type:
        raise UnsupportedError(f"create_executor: device {device} is no CPU", Span.of_caller())
    module = IRModule() if mod is None else mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    return Executor(kind, module, target, params or {})


def _array(given: Any, type_: Any, adapts: bool) -> Any:
    """An argument as an array. Numbers are converted to the parameter's dtype, arrays only if ``adapts``."""
    if isinstance(type_, TupleType):
        return tuple(_array(one, field, adapts) for one, field in zip(given, type_.fields, strict=True))
    if isinstance(given, nodes.Constant):
        given = given.data
    dtype = getattr(type_, "dtype", None)
    if isinstance(given, np.ndarray):
        plain = given.view(np.ndarray)
        return plain.astype(numpy_of(dtype), copy=False) if adapts and dtype is not None else plain
    return np.asarray(given, dtype=dtype if adapts or np.isscalar(given) else None)


def _shape(value: Any) -> Any:
    return tuple(map(_shape, value)) if isinstance(value, tuple) else np.shape(value)


def results(value: Any) -> Any:
    """A result in TVM's form: an array as an NDArray, a tuple as an ADT; functions are not changed."""
    if isinstance(value, (tuple, list)):
        return ADT(0, map(results, value))
    return value if callable(value) else np.asarray(value).view(NDArray)


def build_config(
    opt_level: int = 2, required_pass: Any = None, disabled_pass: Any = None, trace: Any = None
) -> Any:
    """TVM's old name for ``tvm.transform.PassContext``."""
    return transform.PassContext(opt_level, required_pass, disabled_pass)


__getattr__ = refusing(__name__)
