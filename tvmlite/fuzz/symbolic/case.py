"""Case ``index`` of seed ``seed``: a graph of random operators and the sizes it is run at."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tvmlite.fuzz.symbolic.dims import NAMES, bindings
from tvmlite.fuzz.symbolic.families import FAMILIES
from tvmlite.fuzz.symbolic.inputs import Inputs
from tvmlite.relay.ir.nodes import Function, Module, Var, var
from tvmlite.relay.ir.types import Binding


@dataclass(frozen=True)
class Case:
    """A module, the values of its dimensions in each run, and the family of its operators."""

    module: Module
    runs: tuple[Binding, ...]
    family: str


def named(binding: Binding) -> str:
    """``a=3, b=4``"""
    return ", ".join(f"{name.name}={value}" for name, value in binding.items())


def make(seed: int, index: int) -> Case:
    """Return the case of these numbers; raise a TvmliteError if an operator refuses the extents."""
    rnd = random.Random(f"symbolic/{seed}/{index}")
    name = rnd.choice(list(FAMILIES))
    inputs = Inputs(rnd)
    body = FAMILIES[name](inputs)
    sizes = var("sizes", NAMES, "bool")  # so that each dimension is known, whatever parameters there are
    params: tuple[Var, ...] = (*inputs.params, sizes)
    module = Module({"main": Function(params, body)})
    return Case(module, tuple(bindings(rnd, inputs.extents)), name)
