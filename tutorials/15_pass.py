"""Writing a pass
==============

A pass takes a graph and gives a graph that computes the same, but is better in some way. This tutorial writes
one, shows before and after, and tests that the meaning is kept.

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
# A power with a small whole exponent is a few multiplications: ``x ** 2`` is ``x * x``, and ``x ** 3`` is ``x
# * x * x``. That is *strength reduction*: an expensive operation becomes cheaper ones. And ``x ** 1`` is
# ``x``.
#
# The rule is a function of one node. Python's ``match`` is the language of patterns. If the node is of
# another form, the rule gives it back as it is.
#
# Three things to take care of:
#
# - New nodes get the ``span`` of the node they replace, so that errors still lead to the user's line.
# - The result must have the same type. An exponent may be an array that makes the result larger, so we ask
#   for one number, whose type is that of ``x``.
# - The operand stands in the graph once, however often it is used: ``x * x`` reads the same node twice.


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
# ``rewrite`` walks the graph from inputs to results, each node once, and applies the rule. ``graph_pass``
# makes a pass over modules of it.


@graph_pass
def strength_reduction(body: Expr) -> Expr:
    """Powers with small exponents become multiplications."""
    return rewrite(body, reduce_power)


# %%
# Before and after
# ----------------
#
# The cube and the square of ``gelu``'s approximation by tanh, as some exporters write it.


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
# First: before and expected. ``alike`` compares structure; nodes themselves are equal only to themselves.

square = Module.from_expr(relay.Function([x], relay.power(x, number(2.0))))
expected = Module.from_expr(relay.Function([x], relay.multiply(x, x)))
assert alike(strength_reduction(square).main, expected.main)
print("x ** 2 becomes x * x")

# %%
# Second: what has nothing to change comes back as the *same object*. So a pipeline can see which passes did
# something, and what is shared stays shared.

unchanged = Module.from_expr(relay.Function([x], relay.power(x, number(2.5))))
assert strength_reduction(unchanged) is unchanged
print("x ** 2.5 stays the same object")

# %%
# Third: the meaning is kept, on random inputs. Both modules are compiled and compared. The passes of the
# compiler itself would change powers too, so this compares at level 0, where each operator is computed as it
# stands.

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
# A pass should earn its place. The left picture counts operators, the right one shows a run. There are *more*
# operators afterwards. But a multiplication is one instruction, and a power is many.


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
# In the package, passes stand in order in ``relay/passes/__init__.py``. `The page on passes
# <../adding_a_pass.html>`_ has the rules for them. ``tvmlite opt graph.relay -p NAME`` runs one alone.

for one in (1.0, 2.0, 3.0, 4.0):
    print(f"x ** {one}:", operators(strength_reduction(alone(one))) or "nothing is left")
show()

# %%
# Exercises
# ---------
#
# 1. ``x ** 4`` takes two multiplications, if the square is computed once. Extend the rule to all whole
#    exponents up to 16.
# 2. ``sqrt(x) * sqrt(x)`` is ``x``: but for which ``x`` only? Write the test that finds out, before the pass.
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. ``x ** n`` is ``p * p`` with ``p = x ** (n // 2)``, times ``x`` once more where ``n`` is odd. Make ``p``
#    once and use the node twice, so that the graph shares it.
# 2. For those that are not negative; for others the root is NaN. Random input with numbers of both signs
#    finds it. Last bits differ, too, since the root is rounded.
#
# .. raw:: html
#
#     </details>
