"""Writing a pass
==============

A pass takes a graph and returns a graph that computes the same, but is better in some way. This tutorial
writes a pass, shows the graph before and after it, and tests that the meaning is preserved.

Run it::

    python tutorials/15_pass.py
"""

from __future__ import annotations

import numpy as np
from pictures import OURS, PLAIN, bars, plt, show

import tvmlite
from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.node import postorder, rewrite
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module
from tvmlite.relay.ir.types import same_type
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.graph_pass import graph_pass

random = np.random.default_rng(0)

# %%
# The idea
# --------
#
# A power with a small whole exponent can be computed by a few multiplications: ``x ** 2`` is ``x * x``, and
# ``x ** 3`` is ``x * x * x``. This is called *strength reduction*: an expensive operation is replaced by
# cheaper ones. And ``x ** 1`` is ``x``.
#
# The rule is a function of one node. It describes the pattern with Python's ``match``. If the node does not
# match, the rule returns it unchanged.
#
# Three things are important:
#
# - New nodes get the ``span`` of the node that they replace, so that errors still name the user's line.
# - The result must have the same type. An exponent may be an array that makes the result larger than ``x``,
#   so the rule requires a single number, and checks that the type of the result is that of ``x``.
# - The operand is one node of the graph, however often it is used: ``x * x`` reads the same node twice.


def reduce_power(node: Expr) -> Expr:
    """``x`` to the power 1, 2 or 3 as multiplications."""
    match node:
        case Call(op="power", args=(x, Constant() as exponent)) if exponent.shape == ():
            times = [n for n in (1, 2, 3) if float(exponent.data) == n]
            if not times or not same_type(type_of(x), type_of(node)):
                return node
            result = x
            for _ in range(times[0] - 1):
                result = Call("multiply", (result, x), (), node.span)
            return result
        case _:
            return node


# %%
# ``rewrite`` visits each node of the graph once, from the inputs to the results, and applies the rule. The
# decorator ``graph_pass`` makes a pass over modules of the function.


@graph_pass
def strength_reduction(body: Expr) -> Expr:
    """Powers with small exponents become multiplications."""
    return rewrite(body, reduce_power)


# %%
# Before and after
# ----------------
#
# As an example we take ``gelu``'s approximation by tanh, in which some exporters write the cube as a power.


def number(value: float) -> Constant:
    """A float32."""
    return relay.const(np.float32(value))


x = relay.var("x", shape=("n", 1024))
inner = relay.add(x, relay.multiply(relay.power(x, number(3.0)), number(0.044715)))
curve = relay.add(relay.tanh(relay.multiply(inner, number(0.79788456))), number(1.0))
before = Module.from_expr(relay.Function([x], relay.multiply(relay.multiply(x, curve), number(0.5))))
after = strength_reduction(before)
verify(after)
print("before\n", before)
print("after\n", after)

# %%
# Test it
# -------
#
# The first test compares the result with the expected graph. ``alike`` compares the structure, because with
# ``==`` a node is equal only to itself.

square = Module.from_expr(relay.Function([x], relay.power(x, number(2.0))))
expected = Module.from_expr(relay.Function([x], relay.multiply(x, x)))
assert alike(strength_reduction(square).main, expected.main)
print("x ** 2 becomes x * x")

# %%
# The second test: a graph in which nothing is to be changed is returned as the *same object*. So a pipeline
# can see which passes changed something, and shared nodes stay shared.

unchanged = Module.from_expr(relay.Function([x], relay.power(x, number(2.5))))
assert strength_reduction(unchanged) is unchanged
print("x ** 2.5 stays the same object")

# %%
# The third test: the meaning is preserved on random inputs. Both modules are compiled, and their results are
# compared. The compiler's own passes would also replace powers, so we compile at optimization level 0, where
# each operator is computed as written.

data = random.standard_normal((64, 1024), "float32")
libraries = {
    name: tvmlite.compile(module, opt_level=0) for name, module in (("before", before), ("after", after))
}
results = {name: lib(data) for name, lib in libraries.items()}
np.testing.assert_allclose(results["after"], results["before"], rtol=1e-4, atol=1e-6)
print("largest difference:", abs(results["after"] - results["before"]).max())

# %%
# Was it worth it?
# ----------------
#
# A pass should make the model faster. The left picture shows the number of operators, the right one the time
# of a run. There are *more* operators after the pass. But a multiplication is one instruction, and a power is
# many.


def operators(module: Module) -> dict[str, int]:
    """How many operators of each name ``module`` has."""
    names = [node.op for node in postorder(module.main.body) if isinstance(node, Call)]
    return {str(name): names.count(name) for name in sorted(set(map(str, names)))}


def alone(exponent: float) -> relay.Module:
    """A module of one power."""
    return Module.from_expr(relay.Function([x], relay.power(x, number(exponent))))


figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.4))
names = sorted({*operators(before), *operators(after)})
for offset, module, colour, name in ((-0.2, before, PLAIN, "before"), (0.2, after, OURS, "after")):
    counts = [operators(module).get(one, 0) for one in names]
    left.barh(np.arange(len(names)) + offset, counts, 0.38, color=colour, label=name)
left.set_yticks(range(len(names)), names)
left.set_xlabel("operators")
left.legend(frameon=False)
times = {name: min(lib.time(data, budget=0.2).runs) * 1e6 for name, lib in libraries.items()}
bars(times, "microseconds", "the whole function at level 0", colours=[PLAIN, OURS], axes=right)
print({name: f"{time:.1f} microseconds" for name, time in times.items()})

# %%
# In the package, ``relay/passes/__init__.py`` lists the passes in order. `The page on passes
# <../adding_a_pass.html>`_ gives the rules for them. ``tvmlite opt graph.relay -p NAME`` runs a single pass.

for one in (1.0, 2.0, 3.0, 4.0):
    print(f"x ** {one}:", operators(strength_reduction(alone(one))) or "nothing is left")
show()

# %%
# Exercises
# ---------
#
# 1. ``x ** 4`` needs only two multiplications, if the square is computed once. Extend the rule to all whole
#    exponents up to 16.
# 2. ``sqrt(x) * sqrt(x)`` is ``x``, but only for some ``x``: which? Before you write such a pass, write the
#    test that finds this out.
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. ``x ** n`` is ``p * p`` with ``p = x ** (n // 2)``, multiplied by ``x`` once more if ``n`` is odd. Create
#    ``p`` once and use the node twice, so that the graph shares it.
# 2. For those that are not negative; for others the root is NaN. Random input with numbers of both signs
#    reveals this. The last bits differ as well, because the root is rounded.
#
# .. raw:: html
#
#     </details>
