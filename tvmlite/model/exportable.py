"""The interfaces of what is written to disk: a compiled model, or one compiled function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tvmlite.core.abi.signature import Signature
from tvmlite.machine.target import Target
from tvmlite.model.cpu_levels import Level
from tvmlite.model.kernels import CompiledKernel
from tvmlite.model.report import Report
from tvmlite.relay.entry.buffer_placement import Constants
from tvmlite.relay.ir.nodes import Module
from tvmlite.te.loop import ir as loop


class Model(Protocol):
    """A compiled model to write: its kernels, and the entry that calls them, with its constants."""

    @property
    def signature(self) -> Signature:
        """The parameters of the entry, in the order of the calling convention."""
        ...

    @property
    def target(self) -> Target:
        """The target that the model was compiled for."""
        ...

    @property
    def kernels(self) -> Sequence[CompiledKernel]:
        """The compiled kernels that the entry calls, in order of first use."""
        ...

    @property
    def entry(self) -> loop.Function:
        """The function in loop IR that runs the model by calling the kernels."""
        ...

    @property
    def constants(self) -> Constants:
        """The weights, each array once, with its offset in one blob."""
        ...

    @property
    def levels(self) -> Sequence[Level]:
        """The code for several CPU levels, in ascending order; empty if there is only one."""
        ...

    @property
    def module(self) -> Module:
        """The graph after all passes."""
        ...

    @property
    def report(self) -> Report:
        """How the kernels were scheduled, and which decisions were made about the graph."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata that a library stores beside its code, as JSON: names, lists of arrays, kernel
        labels."""
        ...


class Function(Protocol):
    """A compiled schedule to write: its legal form, and its source in C."""

    @property
    def signature(self) -> Signature:
        """The function's parameters, in the order of the calling convention."""
        ...

    @property
    def target(self) -> Target:
        """The target that the function was compiled for."""
        ...

    @property
    def legal(self) -> loop.Function:
        """The function in legal loop IR, the input of the code generators."""
        ...

    @property
    def name(self) -> str:
        """The name of the function's symbol in the object file."""
        ...

    def source(self, form: str = "loops") -> str:
        """Return the function as text, in C if ``form`` is ``"c"``."""
        ...
