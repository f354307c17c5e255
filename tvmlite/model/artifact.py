"""The results of compiling: functions to call, with their sources at every level, reports, and exports."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.model import export
from tvmlite.model.cpu_levels import Level
from tvmlite.model.kernels import CompiledKernel, legal_kernel, lowered_kernel
from tvmlite.model.report import Report
from tvmlite.relay.entry import labels
from tvmlite.relay.entry.buffer_placement import Constants
from tvmlite.relay.entry.entry import output_names
from tvmlite.relay.ir.nodes import Function, Module, Tuple
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.library.library import Library
from tvmlite.te.codegen import jit, process
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.signature import signature_of

FORMS = ("loops", "legal", "llvm", "optimized", "asm", "c")
"""The forms in which a kernel can be shown: loops as scheduled and as legalised, LLVM IR before and after
LLVM's passes, assembly, C."""


class CompiledKernelFunction(CompiledFunction):
    """A compiled schedule: callable, with timing and sources."""

    lowered: loop.Function
    legal: loop.Function
    target: Target

    @staticmethod
    def link(
        lowered: loop.Function, legal: loop.Function, target: Target, objects: Sequence[bytes] = ()
    ) -> CompiledKernelFunction:
        """Link ``legal``, the legal form of ``lowered``, into this process; ``objects`` have C functions that
        it calls. If callees are missing, it can be exported and linked with them elsewhere, but not be
        called."""
        reason, hint = process.reason_not_to_run(target), "compile for this machine: target='native'"
        if not reason and not objects and (absent := process.absent_callees([legal])):
            reason = f"it calls {', '.join(absent)}, which this process does not have"
            hint = "load the library first, ctypes.CDLL(path, ctypes.RTLD_GLOBAL); or export and link"
        loaded = process.Unrunnable() if reason else process.load([legal], target, objects)
        made = CompiledKernelFunction(
            signature_of(legal),
            loaded.address(legal.name),
            process.shapes_address(loaded, legal),
            loaded,
            reason,
            hint,
        )
        made.lowered, made.legal, made.target = lowered, legal, target
        return made

    def source(self, form: str = "loops") -> str:
        """The function as text; ``form`` is one of ``FORMS``."""
        arguments.text("source: form", form, InputError)
        return source_of(form, self.lowered, self.legal, self.target)

    def export(self, path: str | Path) -> None:
        """Write the function to ``path``; the endings are those of ``CompiledModule.export``."""
        export.export_function(
            self, Path(arguments.instance("export: path", path, (str, Path), "a path", InputError))
        )


@dataclass(frozen=True)
class Origin:
    """The source of a library: ``module``, and ``recompile``, which compiles other modules in the same
    way."""

    module: Module
    recompile: Callable[[Module], CompiledModule]


def _metadata_of(attrs: dict[str, Any]) -> dict[str, Any]:
    """The metadata for a module's inputs and outputs that are not plain arrays."""
    lists = {key: value for key, value in attrs.items() if key in ("inputs", "outputs")}
    made = {"sequences": lists} if lists else {}
    return made | ({"squeezed": attrs["squeezed"]} if "squeezed" in attrs else {})


class CompiledModule(Library):
    """A compiled model: call it, profile it, read its kernels, export it.

    ``module`` is the graph after all passes, ``report`` the table of its kernels. ``levels`` has the code of
    each CPU level for an exported library, if it was compiled with ``cpu_levels``; calls run the code of the
    highest level that this processor supports.
    """

    module: Module
    target: Target
    report: Report
    entry: loop.Function
    constants: Constants
    kernels: tuple[CompiledKernel, ...]
    origin: Origin
    levels: tuple[Level, ...] = ()

    @staticmethod
    def link(
        module: Module,
        target: Target,
        entry: loop.Function,
        constants: Constants,
        kernels: Sequence[CompiledKernel],
        report: Report,
    ) -> CompiledModule:
        """Link the compiled ``kernels`` and the ``entry`` that calls them as a library in this process."""
        blob = constants.blob()
        blobs = {f"{entry.name}_constants": blob} if blob.size else {}
        objects = [kernel.object for kernel in kernels]
        callees = [kernel.legal for kernel in kernels if kernel.legal is not None]
        loaded = process.load([entry], target, objects, callees, blobs)
        signature = dataclasses.replace(signature_of(entry), constants=constants.size)
        made = CompiledModule(
            CompiledFunction(
                signature,
                loaded.address(entry.name),
                process.shapes_address(loaded, entry),
                (loaded, blob),
                process.reason_not_to_run(target),
            ),
            {
                "input_names": [p.name for p in module.main.params],
                "output_names": output_names(module, len(entry.outputs)),
                "kernel_labels": list(dict(entry.attrs).get("labels", ())) or labels.of_calls(module.main),
                **_metadata_of(dict(module.attrs)),
            },
        )
        made.module, made.target, made.report = module, target, report
        made.entry, made.constants, made.kernels = entry, constants, tuple(kernels)
        return made

    def _repr_html_(self) -> str:
        kernels = f"<details><summary>Kernels</summary>{self.report._repr_html_()}</details>"
        return super()._repr_html_() + kernels

    def copy(self) -> CompiledModule:
        """Link the library again, with its own weights at another address."""
        constants = self.constants.copy()
        made = CompiledModule.link(self.module, self.target, self.entry, constants, self.kernels, self.report)
        made.origin, made.levels = self.origin, self.levels
        return made

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The symbols of the kernels, in order of first use."""
        return tuple(one.task.symbol for one in self.kernels)

    def source(self, form: str = "loops", kernel: str | None = None) -> str:
        """Return a kernel, or all kernels and the entry, as text; ``form`` is one of ``FORMS``."""
        arguments.text("source: form", form, InputError)
        if kernel is not None and (not isinstance(kernel, str) or kernel not in self.kernel_names):
            raise InputError(f"no kernel {arguments.shown(kernel)}; there are {', '.join(self.kernel_names)}")
        chosen = [one.task for one in self.kernels if kernel in (None, one.task.symbol)]
        if form == "c" and kernel is None:
            return export.c_source(self)
        texts = [
            source_of(form, lowered_kernel(task, self.target), legal_kernel(task, self.target), self.target)
            for task in chosen
        ]
        if kernel is None:
            texts.append(source_of(form, self.entry, self.entry, self.target))
        return "\n".join(texts)

    def run_until(self, name: str, *inputs: Any, **named: Any) -> Any:
        """Compute the value that the model calls ``name``: a node's output, or a node (a tuple for several).

        Inputs are as in a call. The part of the model before the value is compiled with the same options;
        kernels in common come from the cache. An InputError suggests similar names for an unknown one.
        """
        return self.until(name)(*inputs, **named)

    def until(self, name: str) -> CompiledModule:
        """Compile the model up to the value ``name`` (see ``run_until``) as a separate library."""
        module = self.origin.module
        arguments.text("until: name", name, InputError)
        if name not in module.values:
            raise InputError(f"the model has no value or node {name!r}; {_suggestion(name, module.values)}")
        value = module.values[name]
        names = [f"{name}.{i}" for i in range(len(value.fields))] if isinstance(value, Tuple) else [name]
        params = module.main.params
        return self.origin.recompile(Module({"main": Function(params, value)}, tuple(names)))

    def export(self, path: str | Path, weights: str = "source", code_size: int | str | None = None) -> None:
        """Write the model to ``path``; an ending other than these is an InputError.

        ``.so`` is a complete library, also for ``runtime.load``; ``.a`` a static library, ``.o`` one object,
        ``.h`` the header for each, ``.tar`` an archive of all these; ``.wasm`` a WebAssembly module, with
        ``tvmlite.js`` beside it, which runs it; ``.c`` comes with a ``.h`` and its other sources. For a
        machine without a system there are no others, and ``weights`` may be "file": they are then written to
        a ``.bin`` whose contents the program passes. ``code_size``, in bytes or as "32k", limits the size of
        its code, as compiled for the target with ``-Os``, or by estimate if there is no compiler; larger code
        is an UnsupportedError, which has the size of each function.
        """
        arguments.text("export: weights", weights, InputError)
        place = Path(arguments.instance("export: path", path, (str, Path), "a path", InputError))
        export.export(self, place, weights, code_size)


def _suggestion(name: str, known: Mapping[str, Any]) -> str:
    """Suggest names in place of an unknown ``name``."""
    near = difflib.get_close_matches(name, known, 5, 0.5)
    near += [one for one in known if (name in one or one in name) and one not in near]
    if near:
        return f"similar names are {', '.join(map(repr, near[:5]))}"
    more = ", ..." if len(known) > 10 else ""
    return f"it has {', '.join(map(repr, list(known)[:10]))}{more}" if known else "no values of it have names"


def source_of(form: str, lowered: loop.Function, legal: loop.Function, target: Target) -> str:
    """Return a function as text, in one of ``FORMS``."""
    if target.kind == "c" and form in ("llvm", "optimized", "asm"):
        raise InputError(f"form {form!r} needs an LLVM target; target 'c' has loops, legal, c")
    match form:
        case "loops":
            return str(lowered)
        case "legal":
            return str(legal)
        case "llvm":
            return llvm.generate(legal, target)
        case "optimized":
            return jit.optimized_ir(llvm.generate(legal, target), target)
        case "asm":
            return jit.assembly(llvm.generate(legal, target), target)
        case "c":
            return c.generate([_for_c(lowered, legal, target)], target)
        case _:
            raise InputError(f"no form {form!r}; there are {', '.join(FORMS)}")


def _for_c(lowered: loop.Function, legal: loop.Function, target: Target) -> loop.Function:
    """``legal``, unless it may have instructions that only LLVM has: then it is legalised again for C."""
    if target.kind == "c" or not any(isinstance(node, loop.Choice) for node in postorder(lowered.body)):
        return legal
    return legalize(lowered, f"c -vector-bits={target.vector_bits}")
