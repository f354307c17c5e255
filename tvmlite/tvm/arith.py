"""``tvm.arith``: an analyzer that simplifies expressions of ints."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer as _Analyzer
from tvmlite.te.tensor.tensor import Range
from tvmlite.tvm.absent import no_name


class Analyzer:
    """Simplifies expressions and proves conditions, by what is known of variables (``bind``)."""

    def __init__(self) -> None:
        self._ours = _Analyzer()

    def simplify(self, expr: Any, steps: int = 2) -> e.Expr:
        """An expression of the same value, shorter where one is found; ``steps`` is TVM's."""
        return self._ours.simplify(e.convert(expr))

    rewrite_simplify = canonical_simplify = simplify

    def can_prove(self, condition: Any) -> bool:
        """Whether ``condition`` certainly holds."""
        return e.is_const(self.simplify(condition), 1)

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Whether both are certainly equal."""
        return e.is_const(self.simplify(e.convert(lhs) - e.convert(rhs)), 0)

    def bind(self, var: e.Var, expr: Any) -> None:
        """``var`` runs over the range ``expr``."""
        if not isinstance(expr, Range):
            raise UnsupportedError("Analyzer.bind: expected a tvm.ir.Range", Span.of_caller())
        self._ours.bind(var, expr.min, expr.extent)


def _absent(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsupportedError(
            f"tvm.arith.{name} is not supported",
            Span.of_caller(),
            hint="tvm.arith.Analyzer().simplify simplifies expressions",
        )

    refuse.__name__ = name
    return refuse


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise no_name(__name__, name)
    return _absent(name)
