"""The call graph of a module, ``relay.analysis.CallGraph``."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.graph.calls import called


class CallGraph:
    """The calls between the functions of ``module``. Several calls of a function in one other count once."""

    def __init__(self, module: IRModule) -> None:
        if not isinstance(module, IRModule):
            raise InputError(f"CallGraph: {show(module)} given, expected a module", Span.of_caller())
        self.module = module
        self._called = {
            var.name: list(dict.fromkeys(called(one))) if isinstance(one, nodes.Function) else []
            for var, one in module.functions.items()
        }

    def ref_count(self, var: Any) -> int:
        """The number of functions that call ``var``, including itself."""
        name = self._name("ref_count", var)
        return sum(name in names for names in self._called.values())

    def global_call_count(self, var: Any) -> int:
        """The number of functions that ``var`` calls."""
        return len(self._called[self._name("global_call_count", var)])

    def is_recursive(self, var: Any) -> bool:
        """Whether ``var`` calls itself directly."""
        name = self._name("is_recursive", var)
        return name in self._called[name]

    def print_var(self, var: Any) -> str:
        """The text of a node: the number of callers of ``var``, and a line for each of its callees."""
        name = self._name("print_var", var)
        lines = [f"  call site: <{name}> calls {one}\n" for one in self._called[name]]
        return f"Call graph node: {name},  #refs = {self.ref_count(name)}\n{''.join(lines)}"

    def __str__(self) -> str:
        return "\n".join(map(self.print_var, sorted(self._called)))

    def _name(self, where: str, var: Any) -> str:
        """The name of ``var``, a name or a GlobalVar; an InputError for one that the module does not have."""
        name = str(getattr(var, "name", var))
        if name not in self._called:
            known = ", ".join(self._called) or "none"
            raise InputError(f"{where}: the module has no function {name!r}; it has: {known}")
        return name
