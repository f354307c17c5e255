"""Compiled functions by name, as ``tvm.build`` returns them and ``tvm.runtime.load_module`` loads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tvmlite.core import arguments
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.model.artifact import CompiledKernelFunction
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.library import link
from tvmlite.tvm.absent import MissingName, refusing
from tvmlite.tvm.contrib import cc
from tvmlite.tvm.executors.benchmark import BenchmarkResult, timed
from tvmlite.tvm.runtime.archive import write_archive, write_objects
from tvmlite.tvm.runtime.devices import require_present

_KINDS = ("llvm", "c", "cpu", "native")


class MissingFunction(InputError, AttributeError):
    """A module does not have the requested function. It is also an AttributeError, as in TVM."""


def form_of(fmt: str, kind: str) -> str:
    """Return tvmlite's name of the form ``fmt`` of ``get_source``, for a target of ``kind``."""
    arguments.text("get_source: fmt", fmt, InputError)
    return {"": "c" if kind == "c" else "llvm", "ll": "llvm", "s": "asm"}.get(fmt, fmt)


class Module:
    """Compiled functions. Calling the module calls its only function; if there are several, it is an error.
    Arguments are checked as in ``tvmlite.runtime.CompiledFunction``."""

    entry_name = "__tvm_main__"

    def __init__(self, functions: Mapping[str, CompiledFunction], target: Target | None = None) -> None:
        self._functions, self._target = dict(functions), target
        self.imported_modules: list[Module] = []
        self.name = next(iter(self._functions))

    @property
    def type_key(self) -> str:
        """``"llvm"``, ``"c"``, or ``"library"`` for a loaded library."""
        return "library" if self._target is None else str(self._target.kind)

    @property
    def format(self) -> str:
        """The format in which the code is saved: ``"c"`` for C code, else ``"o"``."""
        return "c" if self.type_key == "c" else "o"

    @property
    def is_dso_exportable(self) -> bool:
        """Whether ``export_library`` can make a shared library from the module."""
        return self._target is not None

    @property
    def entry_func(self) -> CompiledFunction:
        """The function that a call of the module calls: its only function."""
        if len(self._functions) > 1:
            known = ", ".join(self._functions)
            raise InputError(f"the module has several functions, call one by its name: {known}")
        return self._functions[self.name]

    def get_function(self, name: str, query_imports: bool = False) -> CompiledFunction:
        """Return the function ``name``; with ``query_imports`` imported modules are searched as well. If
        there is none, the error lists the available functions."""
        given = arguments.text("get_function: name", name, InputError)
        if given == self.entry_name or (given == "main" and len(self._functions) == 1):
            return self.entry_func
        functions = self._with_imports() if query_imports else self._functions
        if name not in functions:
            there = ", ".join(functions)
            raise MissingFunction(f"the module has no function {name!r}; there are: {there}")
        return functions[name]

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether there is a function ``name``, here or, with ``query_imports``, in an imported module."""
        return name in (self._with_imports() if query_imports else self._functions)

    def _with_imports(self) -> dict[str, CompiledFunction]:
        """Return the functions of this module and of imported ones."""
        found = dict(self._functions)
        for one in self.imported_modules:
            found |= one._with_imports()
        return found

    __getitem__ = get_function

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the entry function."""
        return self.entry_func(*args, **named)

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
        ctx: Any = None,
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that takes arguments of ``func_name`` and returns the seconds per call
        (``.mean``, ``.results``), measured in ``repeat`` runs of ``number`` calls, or of as many as fill
        ``min_repeat_ms``. After every ``repeats_to_cooldown`` runs there is a pause of
        ``cooldown_interval_ms``; ``limit_zero_time_iterations`` has no effect, and ``ctx`` is the older name
        of ``dev``."""
        require_present(dev if ctx is None else ctx)
        if f_preproc:
            raise UnsupportedError(
                f"time_evaluator: f_preproc {f_preproc!r} is not supported", Span.of_caller()
            )
        function = self.get_function(func_name)
        pauses = cooldown_interval_ms, repeats_to_cooldown

        def evaluate(*args: Any) -> BenchmarkResult:
            def runs(number: int, repeat: int) -> Sequence[float]:
                return function.time(*args, number=number, repeat=repeat).runs

            return timed(runs, number, repeat, min_repeat_ms, *pauses)

        return evaluate

    def get_source(self, fmt: str = "") -> str:
        """Return the code as text, with functions sorted by name: ``"ll"`` for LLVM IR, ``"asm"``, ``"c"``;
        the default is C for a C target, else LLVM IR."""
        form = form_of(fmt, self.type_key)
        functions = [self._functions[name] for name in sorted(self._functions)]
        return "\n".join(_kernel("get_source", one).source(form) for one in functions)

    def save(self, file_name: str, fmt: str = "") -> None:
        """Write the code to ``file_name``: an object ``.o``, LLVM IR ``.ll``, assembly ``.s``, C ``.c``."""
        kind = fmt or str(file_name).rpartition(".")[2]
        if kind in ("ll", "s", "asm"):
            with open(file_name, "w", encoding="utf-8") as file:
                file.write(self.get_source("asm" if kind == "s" else kind))
            return
        if kind == "bc":
            raise UnsupportedError("save: LLVM's bitcode is not written", Span.of_caller(), "LLVM IR, .ll")
        self._only("save").export(file_name)

    def export_library(self, file_name: str, fcompile: Any = None, addons: Any = None, **kwargs: Any) -> None:
        """Write the functions of this module and of imported ones to a shared library, ``.so``, or an archive
        of objects, ``.tar``, which ``load_module`` links. ``fcompile``, TVM's choice of a compiler, must be
        left out, unless it packs a ``.tar``."""
        if addons or kwargs:
            names = ", ".join(["addons"] * bool(addons) + sorted(kwargs))
            raise UnsupportedError(f"export_library: {names}: not supported", Span.of_caller())
        if fcompile is not None and not str(file_name).endswith(f".{getattr(fcompile, 'output_format', '')}"):
            raise UnsupportedError("export_library: fcompile is not supported", Span.of_caller())
        path = Path(arguments.path("export_library: file_name", file_name, InputError))
        functions = [_kernel("export_library", one) for one in self._with_imports().values()]
        if path.suffix == ".tar":
            write_archive(functions, path)
        elif len(functions) == 1:
            functions[0].export(path)
        else:
            self._link(functions, path)

    def _link(self, functions: Sequence[CompiledKernelFunction], path: Path) -> None:
        """Link several functions, each as a separate object, into the library ``path``."""
        if path.suffix != ".so" or self.type_key == "c":
            raise UnsupportedError(
                f"export_library: {len(functions)} functions of a module for {self.type_key!r} do not go "
                f"into {path.name}",
                Span.of_caller(),
                "functions for llvm go into one .so or .tar; save() writes each to a file of its own",
            )
        with link.temporary_folder("tvmlite-export-") as folder:
            cc.create_shared(str(path), [str(one) for one in write_objects(functions, folder)])

    def import_module(self, module: Any) -> None:
        """Import ``module``: its functions are exported together with those of this module, and
        ``get_function`` finds them with ``query_imports``. Two functions with the same name are an error."""
        arguments.instance("import_module: module", module, Module, "a module", InputError)
        twice = self._with_imports().keys() & module._with_imports().keys()
        if twice:
            raise InputError(f"import_module: both modules have functions {', '.join(sorted(twice))}")
        self.imported_modules.append(module)

    def _only(self, where: str) -> CompiledKernelFunction:
        if len(self._functions) != 1:
            raise UnsupportedError(
                f"{where}: a module of {len(self._functions)} functions is not written; write each",
                Span.of_caller(),
            )
        return _kernel(where, self.entry_func)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module's only function, such as ``time`` or ``source``."""
        if name.startswith("_"):
            raise AttributeError(f"'Module' object has no attribute {name!r}")
        if len(self.__dict__.get("_functions", ())) == 1 and hasattr(self.entry_func, name):
            return getattr(self.entry_func, name)
        raise MissingName(
            f"Module has no attribute {name!r} in tvmlite",
            Span.of_caller(),
            "it has: get_function, get_source, save, export_library, time_evaluator, imported_modules",
        )

    def __repr__(self) -> str:
        return f"Module({self.type_key}, {', '.join(self._functions)})"


def of_functions(functions: Mapping[str, CompiledFunction], target: Target) -> Module:
    """Return a module of ``functions``, compiled for ``target``."""
    return Module(functions, target)


def load_static_library(path: str, func_names: Any = None) -> NoReturn:
    """Raise an UnsupportedError: object files are linked by ``tvm.contrib.cc.create_shared``."""
    raise UnsupportedError(
        "load_static_library: link the objects first", Span.of_caller(), "tvm.contrib.cc.create_shared"
    )


def system_lib(symbol_prefix: str = "") -> NoReturn:
    """Raise an UnsupportedError: no compiled functions are linked into the process."""
    raise UnsupportedError(
        "system_lib: no functions are linked into this process", Span.of_caller(), "tvm.runtime.load_module"
    )


def enabled(target: str) -> bool:
    """Whether ``target`` is supported."""
    return str(target).split()[0] in _KINDS if str(target).split() else False


def _kernel(where: str, function: CompiledFunction) -> CompiledKernelFunction:
    if not isinstance(function, CompiledKernelFunction):
        raise UnsupportedError(f"{where}: {function.name} was loaded, its code is not kept", Span.of_caller())
    return function


__getattr__ = refusing(__name__)
