"""``tvm.transform``: passes over modules, sequences of them, and the context in which they run."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from tvmlite.core.errors import ConfigError, TvmliteError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.ir.pass_config import OPTIONS, checked
from tvmlite.tvm.lazy import later

_by_name = later("relay.transform.functions", "by_name")


class PassInfo:
    """The metadata of a pass: its optimization level, its name and the passes it requires."""

    def __init__(
        self, opt_level: int, name: str, required: Sequence[str] = (), traceable: bool = False
    ) -> None:
        self.opt_level, self.name, self.required, self.traceable = opt_level, name, list(required), traceable

    def __repr__(self) -> str:
        known = f"pass name: {self.name}, opt_level: {self.opt_level}, required passes: {self.required}"
        return f"The meta data of the pass - {known}"


class PassContext:
    """The settings with which passes run: ``with tvm.transform.PassContext(opt_level=3): ...``.

    A pass in a ``Sequential`` runs if its level is at most ``opt_level`` or its name is in ``required_pass``,
    and not in ``disabled_pass``. ``config`` holds options by TVM's names; those that tvmlite does not use are
    accepted and have no effect. ``instruments`` are called before and after each pass.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: dict[str, Any] | None = None,
        trace: Any = None,
        trace_stack: Any = None,
        make_traceable: Any = None,
        num_evals: int = 0,
        tuning_api_database: Any = None,
    ) -> None:
        for what, names in (("required_pass", required_pass), ("disabled_pass", disabled_pass)):
            if names is not None and not isinstance(names, (list, tuple, set)):
                raise TypeError(f"{what} is expected to be the type of list/tuple/set, given {show(names)}")
        if config is not None and not isinstance(config, dict):
            raise TypeError(f"config is expected to be a dict, given {show(config)}")
        self.opt_level = int(opt_level)
        self.required_pass = list(required_pass or ())
        self.disabled_pass = list(disabled_pass or ())
        self.instruments: list[Any] | None = list(instruments) if instruments else None
        self.config = checked(config or {})
        self._tokens: list[Any] = []

    @staticmethod
    def current() -> PassContext:
        """Return the innermost active context, or the default one."""
        return _current.get() or DEFAULT

    def override_instruments(self, instruments: Sequence[Any] | None) -> None:
        """Replace the instruments: the old ones exit the context and the new ones enter it."""
        self._notify("exit_pass_ctx")
        self.instruments = list(instruments) if instruments else None
        self._notify("enter_pass_ctx")

    def pass_enabled(self, info: PassInfo) -> bool:
        """Whether the pass ``info`` runs in a ``Sequential``."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or info.opt_level <= self.opt_level

    def __enter__(self) -> PassContext:
        self._notify("enter_pass_ctx")
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _current.reset(self._tokens.pop())
        self._notify("exit_pass_ctx")

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """Return the options that ``config`` may have, each with TVM's name for its ``type``."""
        return {name: {"type": type_} for name, type_ in OPTIONS.items()}

    def _notify(self, event: str) -> None:
        """Call the method ``event`` of all instruments. If one fails, all are removed from the context, and
        those that had entered it exit."""
        told: list[Any] = []
        for one in self.instruments or ():
            try:
                ask(one, event)
                told.append(one)
            except Exception:
                self.instruments = None
                for other in told if event == "enter_pass_ctx" else ():
                    ask(other, "exit_pass_ctx")
                raise


_current: ContextVar[PassContext | None] = ContextVar("pass_context", default=None)
DEFAULT = PassContext()


class PassError(TvmliteError, RuntimeError):
    """A user-defined pass or a method of an instrument raised an exception, which is the ``__cause__``."""


class PassAssertionError(PassError, AssertionError):
    """An assertion failed in a user-defined pass or a method of an instrument."""


KEPT = (ValueError, TypeError, AttributeError, KeyError, IndexError)
"""Python's exceptions that are passed on unchanged, as TVM does, since programs catch them."""


def called(function: Callable[..., Any], *args: Any) -> Any:
    """Call a user-defined function and return its result. An exception other than ``KEPT`` or tvmlite's
    own becomes a PassError."""
    try:
        return function(*args)
    except (TvmliteError, *KEPT):
        raise
    except Exception as error:
        name = getattr(function, "__qualname__", "a pass")
        kind = PassAssertionError if isinstance(error, AssertionError) else PassError
        raise kind(f"{name}: {type(error).__name__}: {error}") from error


def ask(instrument: Any, method: str, *args: Any) -> Any:
    """Call ``method`` of ``instrument`` and return its result; None if there is no such method."""
    function = getattr(instrument, method, None)
    return None if function is None else called(function, *args)


class Pass:
    """A pass. Called with a module, it returns a module and leaves the given one unchanged."""

    def __init__(self, info: PassInfo, run: Callable[[IRModule, PassContext], IRModule]) -> None:
        self.info, self.transform = info, run

    @property
    def pass_info(self) -> PassInfo:
        """The metadata of the pass."""
        return self.info

    def __call__(self, mod: Any) -> IRModule:
        """Run the pass on ``mod`` and return the result; ``mod`` itself if an instrument skips the pass."""
        if not isinstance(mod, IRModule):
            raise ConfigError(
                f"{self.info.name}: {show(mod)} given, expected a tvm.IRModule",
                Span.of_caller(),
                hint="tvm.IRModule.from_expr(expr) makes one",
            )
        context = PassContext.current()
        instruments = context.instruments or ()
        for one in instruments:
            if ask(one, "should_run", mod, self.info) is False:
                return mod
        for one in instruments:
            ask(one, "run_before_pass", mod, self.info)
        made = called(self.transform, mod, context)
        for one in instruments:
            ask(one, "run_after_pass", made, self.info)
        return made

    def __repr__(self) -> str:
        return f"Run Module pass: {self.info.name} at the optimization level {self.info.opt_level}"

    @staticmethod
    def lifted(function: Callable[..., Any]) -> Callable[[Any, PassContext], Any]:
        """The user's ``function`` as a function of a module and a context."""
        return function


class ModulePass(Pass):
    """A pass over a module."""


class FunctionPass(Pass):
    """A pass over each function of a module."""

    @staticmethod
    def lifted(function: Callable[..., Any]) -> Callable[[Any, PassContext], Any]:
        """``function`` applied to each Relay function of a module."""

        def run(mod: IRModule, context: PassContext) -> IRModule:
            made = mod.copy()
            for var, one in mod.functions.items():
                if isinstance(one, nodes.Function):
                    made[var] = function(one, mod, context)
            return made

        return run


class Sequential(Pass):
    """A sequence of passes. Those that the context does not enable are skipped."""

    def __init__(
        self,
        passes: Sequence[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> None:
        self.passes = list(passes or ())
        for position, one in enumerate(self.passes):
            if not isinstance(one, Pass):
                raise TypeError(f"Sequential: passes[{position}] is {show(one)}, expected Pass objects")
        if not isinstance(opt_level, int):
            raise TypeError(f"Sequential: opt_level is {show(opt_level)}, expected int")
        super().__init__(PassInfo(opt_level, name, required or ()), self._in_order)

    def _in_order(self, mod: IRModule, context: PassContext) -> IRModule:
        for one in self.passes:
            if context.pass_enabled(one.info):
                for name in one.info.required:
                    mod = _by_name(name)(mod)
                mod = one(mod)
        return mod


def PrintIR(header: str = "", show_meta_data: bool = False) -> Pass:
    """Return a pass that prints the module to ``stderr`` and returns it unchanged."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        print(f"PrintIR({header}):\n{mod.astext(show_meta_data)}", file=sys.stderr)
        return mod

    return Pass(PassInfo(0, "PrintIR"), run)


def module_pass(
    pass_func: Any = None,
    opt_level: Any = None,
    name: Any = None,
    required: Any = None,
    traceable: bool = False,
) -> Any:
    """Decorate a function of a module and a context, or a class with a method ``transform_module(mod, ctx)``,
    to make it a pass over modules."""
    return decorated("module_pass", ModulePass, "transform_module", pass_func, opt_level, name, required)


def function_pass(
    pass_func: Any = None,
    opt_level: Any = None,
    name: Any = None,
    required: Any = None,
    traceable: bool = False,
) -> Any:
    """Decorate a function of a function, its module and a context, or a class with a method
    ``transform_function(func, mod, ctx)``, to make it a pass over functions."""
    return decorated(
        "function_pass", FunctionPass, "transform_function", pass_func, opt_level, name, required
    )


def decorated(
    what: str, kind: type[Pass], method: str, given: Any, opt_level: Any, name: Any, required: Any
) -> Any:
    """A pass of the class ``kind`` made from ``given``, a function or a class with ``method``; a decorator if
    ``given`` is None. ``what`` is the decorator's name."""
    if opt_level is None:
        raise ValueError(f"{what}: please provide opt_level for the pass")
    if required is not None and not isinstance(required, (list, tuple)):
        raise TypeError(f"{what}: required is {show(required)}, expected to be the type of list/tuple")

    def decorate(function: Any) -> Any:
        info = PassInfo(opt_level, name or function.__name__, required or ())
        if inspect.isclass(function):
            return _class(kind, method, function, info)
        if not callable(function):
            raise TypeError(f"{what}: pass_func is {show(function)}, expected to be callable")
        return kind(info, kind.lifted(function))

    return decorate if given is None else decorate(given)


def _class(kind: type[Pass], method: str, given: type, info: PassInfo) -> type:
    """A class of passes whose instances run ``method`` of an instance of ``given``."""

    class Made(kind):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **options: Any) -> None:
            self._inner = given(*args, **options)
            super().__init__(info, kind.lifted(getattr(self._inner, method)))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["_inner"], name)

    functools.update_wrapper(Made.__init__, given.__init__)
    Made.__name__, Made.__qualname__, Made.__doc__ = given.__name__, given.__qualname__, given.__doc__
    Made.__module__ = given.__module__
    return Made


__getattr__ = refusing(__name__)
