"""Hybrid scripts as text: written from a schedule, saved to a file and loaded from one."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite import driver, te
from tvmlite.core import arguments
from tvmlite.core.errors import InputError, ParseError
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.te.hybrid.parser import Parser
from tvmlite.tvm.te.hybrid.source import source_of


def tensors_of(tree: ast.FunctionDef, given: Mapping[str, Any], captured: Mapping[str, Any]) -> Any:
    """The tensor that the script ``tree`` computes, or a list of them if there are several."""
    op = Parser(tree, given, captured).operation()
    return op.output(0) if op.num_outputs == 1 else list(op.outputs)


class HybridModule:
    """A hybrid script given as text. The text is parsed and compiled, never run by Python."""

    def __init__(self, src: str | None = None, name: str | None = None) -> None:
        self.src_ = ""
        self.name = name or "hybrid_func"
        self._tree: ast.FunctionDef | None = None
        if src is not None:
            self._read(src)

    def get_source(self) -> str:
        """The text of the script."""
        return self.src_

    def save(self, path: str) -> None:
        """Write the text to ``path``, with the suffix ``.py`` added if it is missing."""
        file = arguments.path("HybridModule.save: path", path, InputError)
        (file if file.suffix == ".py" else Path(f"{file}.py")).write_text(self.src_, encoding="utf-8")

    def load(self, path: str) -> None:
        """Load the script from the file ``path``."""
        file = arguments.path("HybridModule.load: path", path, InputError)
        if not file.is_file():
            raise InputError(f"HybridModule.load: there is no file {str(file)!r}")
        self._read(file.read_text(encoding="utf-8"))

    def _read(self, text: str) -> None:
        try:
            found = [one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)]
        except SyntaxError as error:
            raise ParseError(f"HybridModule: line {error.lineno}: {error.msg}") from None
        if len(found) != 1:
            raise ParseError(f"HybridModule: the text has {len(found)} functions, expected one")
        self.src_, self._tree, self.name = text, found[0], found[0].name

    def __call__(self, *args: Any) -> Any:
        """Return the output tensors if any argument is a tensor; else compile the script, run it on numpy
        arrays and numbers, and return arrays."""
        if self._tree is None:
            raise InputError("HybridModule: there is no script yet: load one")
        names = [one.arg for one in self._tree.args.args]
        if len(names) != len(args):
            raise InputError(f"{self.name} takes {len(names)} arguments, given {len(args)}")
        if any(isinstance(one, (Tensor, te.Tensor)) for one in args):
            return tensors_of(self._tree, dict(zip(names, args, strict=True)), {})
        return self._run(dict(zip(names, args, strict=True)))

    def _run(self, given: dict[str, Any]) -> Any:
        assert self._tree is not None
        arrays = {name: np.asarray(one) for name, one in given.items() if isinstance(one, np.ndarray)}
        tensors = {n: te.placeholder(a.shape, a.dtype.name, n) for n, a in arrays.items()}
        made = tensors_of(self._tree, {**given, **tensors}, {})
        outputs = made if isinstance(made, list) else [made]
        schedule = te.create_schedule(outputs[0].op)
        function = driver.build(schedule, [*tensors.values(), *outputs], name=self.name)
        return function(*arrays.values())


def build(
    sch: Schedule, inputs: Sequence[Any], outputs: Sequence[Any], name: str = "hybrid_func"
) -> HybridModule:
    """Return the loops of ``sch`` as a hybrid script whose parameters are ``inputs``."""
    function = te.lower(sch, [*inputs, *outputs], name)
    return HybridModule(source_of(function))


__getattr__ = refusing(__name__)
