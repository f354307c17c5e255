"""``tvm.tir.transform``: user-defined passes over lowered functions. TVM's own passes are not available:
``tvm.lower`` always applies tvmlite's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.tvm.absent import instead_of, missing
from tvmlite.tvm.driver.lowered import LoweredModule
from tvmlite.tvm.ir.transform import Pass, PassContext, decorated
from tvmlite.tvm.tir.function import PrimFunc


class PrimFuncPass(Pass):
    """A pass over each lowered function of a module."""

    @staticmethod
    def lifted(function: Callable[..., Any]) -> Callable[[Any, PassContext], Any]:
        """``function`` applied to each lowered function of a module; others are kept."""

        def run(mod: Any, context: PassContext) -> Any:
            made = {
                name: function(one, mod, context) if isinstance(one, PrimFunc) else one
                for name, one in mod.functions.items()
            }
            if isinstance(mod, LoweredModule):
                return LoweredModule(made)
            changed = mod.copy()
            for name, one in made.items():
                changed[name] = one
            return changed

        return run


def prim_func_pass(
    pass_func: Any = None,
    opt_level: Any = None,
    name: Any = None,
    required: Any = None,
    traceable: bool = False,
) -> Any:
    """Decorate a function of a lowered function, a module and a context, or a class with a method
    ``transform_function(func, mod, ctx)``, to make it a pass over lowered functions.

    With ``tvm.transform.PassContext(config={"tir.add_lower_pass": [(phase, made)]})``, ``tvm.lower`` runs it.
    """
    return decorated(
        "prim_func_pass", PrimFuncPass, "transform_function", pass_func, opt_level, name, required
    )


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name == "absent_because":
        raise AttributeError(name)
    return missing(f"tvm.tir.transform.{name}", instead_of("tir.transform"))
