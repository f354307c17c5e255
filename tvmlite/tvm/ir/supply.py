"""``tvm.ir.supply``: generators of unused names, and of unused names of functions."""

from __future__ import annotations

from itertools import count
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.span import Span
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.expr import GlobalVar


class NameSupply:
    """Generates unique names, by default starting with ``prefix`` and ``_``."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._taken: set[str] = set()

    def fresh_name(self, name: str, add_prefix: bool = True) -> str:
        """Reserve and return a name that is not taken: ``name``, followed by a number if necessary. Dots
        become ``_``."""
        wanted = self._whole(name, add_prefix).replace(".", "_")
        numbered = (f"{wanted}{number}" for number in count(1))
        found = (
            wanted if wanted not in self._taken else next(one for one in numbered if one not in self._taken)
        )
        self._taken.add(found)
        return found

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Reserve ``name``, even if it is taken, and return it with the prefix."""
        whole = self._whole(name, add_prefix)
        self._taken.add(whole)
        return whole

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether ``name`` is taken."""
        return self._whole(name, add_prefix) in self._taken

    def _whole(self, name: str, add_prefix: bool) -> str:
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name


class GlobalVarSupply:
    """Generates unique names of functions. ``value`` is a ``NameSupply``, or a module or list of modules
    whose function names are taken; the first module's attribute ``mod_name`` is the prefix."""

    def __init__(self, value: Any = None) -> None:
        self.name_supply = value if isinstance(value, NameSupply) else NameSupply()
        self._vars: dict[str, GlobalVar] = {}
        if value is None or isinstance(value, NameSupply):
            return
        modules = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(one, IRModule) for one in modules):
            raise InputError(
                f"GlobalVarSupply: value is {show(value)}, expected a NameSupply, a module or a list of them",
                Span.of_caller(),
            )
        if modules:
            self.name_supply.prefix = modules[0].get_attr("mod_name") or "tvmgen_default"
        for module in modules:
            for var in module.functions:
                self.reserve_global(var)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return a new ``GlobalVar`` named ``name``, followed by a number if that is taken."""
        return self._entered(self.name_supply.fresh_name(name, add_prefix))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return the ``GlobalVar`` named ``name``, the same one on every call."""
        whole = self.name_supply.reserve_name(name, add_prefix)
        return self._vars[whole] if whole in self._vars else self._entered(whole)

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Reserve ``global_var``; raises an error if its name is taken, unless ``allow_conflict``."""
        name = global_var.name_hint
        if name in self._vars and not allow_conflict:
            raise InputError(f"reserve_global: @{name} is taken already", Span.of_caller())
        self.name_supply.reserve_name(name, add_prefix=False)
        self._vars[name] = global_var

    def _entered(self, name: str) -> GlobalVar:
        self._vars[name] = GlobalVar(name)
        return self._vars[name]
