"""``te.hybrid``: loops written as a Python function, which is parsed and not executed."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.te.hybrid.module import HybridModule as HybridModule
from tvmlite.tvm.te.hybrid.module import build as build
from tvmlite.tvm.te.hybrid.module import tensors_of
from tvmlite.tvm.te.hybrid.runtime import with_names


class HybridFunction:
    """A Python function used as a hybrid script. Called with tensors and size variables, it is parsed and
    returns the tensors that its loops compute; called with numpy arrays and numbers, it runs as Python."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__wrapped__ = function
        self.__globals__ = function.__globals__  # type: ignore[attr-defined]

    @property
    def tree(self) -> ast.FunctionDef:
        """The syntax tree of the function; raises a TensorExpressionError if its source is not available."""
        try:
            source = textwrap.dedent(inspect.getsource(self._function))
        except OSError:
            raise TensorExpressionError(
                f"hybrid script {self.__name__!r}: its source is not available", Span.of_caller()
            ) from None
        (tree,) = ast.parse(source).body
        assert isinstance(tree, ast.FunctionDef)
        return tree

    @property
    def captured(self) -> dict[str, Any]:
        """The global and enclosing names that the function uses, with their values."""
        found = inspect.getclosurevars(self._function)
        return {**found.globals, **found.nonlocals}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return tensors for symbolic arguments, else the result of running the function in Python."""
        if not any(_is_symbolic(one) for one in (*args, *named.values())):
            return with_names(self._function)(*args, **named)
        bound = inspect.signature(self._function).bind(*args, **named)
        bound.apply_defaults()
        return tensors_of(self.tree, bound.arguments, self.captured)

    def inlined(self, parser: Any, args: Sequence[Any]) -> Any:
        """Inline this script into the one that ``parser`` reads, and return the call's value."""
        bound = inspect.signature(self._function).bind(*args)
        bound.apply_defaults()
        return parser.inline(self.tree, bound.arguments, self.captured)


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_symbolic(one) for one in value)
    return isinstance(value, Tensor) or hasattr(value, "as_expr") or hasattr(value, "as_text")


def script(pyfunc: Callable[..., Any]) -> HybridFunction:
    """Return ``pyfunc`` as a hybrid script. ``pyfunc`` may use ``output_tensor``, ``allocate``, loops over
    ``range``, ``unroll``, ``vectorize``, ``parallel`` and ``const_range``, ``if``, ``assert``, arithmetic and
    the mathematical functions of ``te``; it must return its output tensors."""
    return HybridFunction(pyfunc)


def decorate(func: Any, fwrapped: Any) -> Any:
    """Return ``fwrapped``, the decorated form of ``func``."""
    return fwrapped


__all__ = ["HybridFunction", "HybridModule", "build", "decorate", "script"]


__getattr__ = refusing(__name__)
