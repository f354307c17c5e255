"""What a parallel loop's body takes along when it becomes a function of its own."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.text import register_type
from tvmlite.te.loop import ir


@dataclass(frozen=True)
class Captured:
    """The free variables and buffers of a piece of code, each in order of first use.

    ``workspace`` says whether it makes views of the workspace.
    """

    variables: tuple[e.Var, ...]
    buffers: tuple[ir.Buffer, ...]
    workspace: bool

    @property
    def types(self) -> list[str]:
        """The LLVM types: the variables', the buffers', and the workspace's where there is one."""
        pointers = len(self.buffers) + self.workspace
        return [register_type(v.dtype, v.lanes) for v in self.variables] + ["ptr"] * pointers


def captured(loop: ir.For, here: Container[ir.Buffer]) -> Captured:
    """What the body of ``loop`` uses and does not bind itself; ``THREAD`` is given to it.

    Buffers that are ``here`` have an address in the code around; constants that are not are symbols.
    """
    bound: set[object] = {loop.var, ir.THREAD}
    variables: dict[e.Var, None] = {}
    buffers: dict[ir.Buffer, None] = {}
    workspace = False
    nodes = list(postorder(loop.body))
    for node in nodes:
        for name in node.binders:
            bound.add(getattr(node, name))
        workspace = workspace or (isinstance(node, ir.View) and node.buffer.scope != "constant")
    for node in nodes:
        if isinstance(node, (ir.Load, ir.Store)):
            buffer = node.buffer
            if buffer not in bound and (buffer in here or buffer.scope != "constant"):
                buffers.setdefault(buffer)
        elif isinstance(node, e.Var) and node not in bound:
            variables.setdefault(node)
    return Captured(tuple(variables), tuple(buffers), workspace)
