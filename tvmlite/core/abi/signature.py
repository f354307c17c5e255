"""The calling convention that both code generators emit and the runtime calls.

A compiled function is ``int32_t NAME(parameters...)``, parameters in the order of its
``Signature``:

- ``input``, ``output``: a pointer to the first element of a dense row-major array, aligned to
  its element. Inputs are read-only and no output overlaps another parameter, with one exception: an output
  with ``in_place`` is the memory of the input of that name, which the function updates where it differs.
- ``scalar``: a value passed by the caller, of the parameter's dtype (16-bit floats as their bits).
- ``size``: an ``int64_t``, the value of a size variable (``h``, ``w``, ``batch``, ...), which the
  runtime reads off the arrays' shapes.
- ``workspace``: a pointer to scratch memory, aligned to 64 bytes, of the size that
  ``NAME_shapes`` (or ``Signature.workspace``, when static) gives; may be null if that is 0.
- ``threads``: an ``int64_t``, the number of threads the workspace was sized for.
- ``dynamic_outputs``: a pointer to ``int64_t``, and ``capacity``: an ``int64_t``, the bytes of the workspace.
  Both are present only if extents depend on the data. ``NAME_shapes`` then gives the least workspace to start
  with. If more is needed, the entry writes the size to ``dynamic_outputs[0]`` and returns the code of
  ``TOO_SMALL``: call again with a larger workspace (a negative size exceeds any memory).
- ``found``: an output whose extents depend on the data; not passed. The entry leaves it in the workspace and
  writes to ``dynamic_outputs``, from element 1 on, for each such output in order: the byte offset in the
  workspace where it begins, and its extents.
- ``profile``: a nullable pointer to ``int64_t``; an entry writes the nanoseconds of its k-th
  kernel to element k.

It returns 0, or a positive code whose message is ``Signature.messages[code - 1]``.

When any shape or the workspace depends on a size, the library also has
``int32_t NAME_shapes(int64_t *out, int64_t threads, int64_t size0, ...)``, where the sizes are the
parameters of kind scalar or size that shapes may depend on (``shape_sizes``). It writes to ``out``
the extents of all passed inputs and outputs, in order, and then the bytes of the workspace.

Parallel loops call ``int32_t tvmlite_parallel_for(body, closure, extent)`` with
``int32_t body(void *closure, int64_t begin, int64_t end, int64_t thread)``, where ``thread`` is in
``[0, threads)``; the first non-zero return value is returned. Loops that read much in each run call
``tvmlite_sweep`` instead, which executes every second run from the end; an entry with such kernels counts its
runs with ``void tvmlite_next_run(uint32_t *runs)``. Entries call ``int64_t tvmlite_now(void)``, a
monotonic clock in nanoseconds, when profiling, and in loops without a trip count, whose time is
limited. All are part of the thread pool's source.

Constants of a model live in one blob, the external symbol ``NAME_constants``, aligned to 64 bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.symbols import C_KEYWORDS
from tvmlite.core.errors import InputError, LibraryError

VERSION = 1
TOO_SMALL = "the workspace is too small; dynamic_outputs[0] has the bytes that are needed"
"""The message whose code asks the caller to call again with a larger workspace."""

Kind = Literal[
    "input",
    "output",
    "found",
    "scalar",
    "size",
    "workspace",
    "threads",
    "dynamic_outputs",
    "capacity",
    "profile",
]

C_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "uint16_t",  # passed as bits: C99 has no half type
    "bfloat16": "uint16_t",
    "bool": "uint8_t",
} | {name: f"{name}_t" for name in (*dtypes.SIGNED, *dtypes.UNSIGNED)}
C_TYPES |= dict.fromkeys(dtypes.NARROW, "uint8_t")  # passed as bits, one byte per element


@dataclass(frozen=True)
class Parameter:
    """One parameter of a compiled function.

    ``shape`` (arrays only) holds ints, names of size variables, and ``None`` for an extent that
    only ``NAME_shapes`` knows. ``in_place`` (outputs only) names the input whose memory is used.
    """

    name: str
    kind: Kind
    dtype: str = "int64"
    shape: tuple[int | str | None, ...] = ()
    in_place: str = ""

    @property
    def c_type(self) -> str:
        """The type in the C prototype."""
        match self.kind:
            case "input":
                return f"const {C_TYPES[self.dtype]} *"
            case "output":
                return f"{C_TYPES[self.dtype]} *"
            case "scalar":
                return f"{C_TYPES[self.dtype]} "
            case "workspace":
                return "void *"
            case "profile" | "dynamic_outputs":
                return "int64_t *"
            case _:
                return "int64_t "


@dataclass(frozen=True)
class Signature:
    """A compiled function: its symbol, its parameters, and what the caller must provide.

    ``workspace`` is in bytes, or None when ``NAME_shapes`` gives it. ``kernels`` are the names of
    an entry's kernels, in the order of ``profile``; ``constants`` is the size in bytes of the
    blob the function expects at ``NAME_constants``.
    """

    name: str
    parameters: tuple[Parameter, ...]
    workspace: int | None = 0
    messages: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    constants: int = 0

    def of_kind(self, kind: Kind) -> tuple[Parameter, ...]:
        """The parameters of one kind, in order."""
        return tuple(p for p in self.parameters if p.kind == kind)

    @property
    def c_parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the C function, in order: all but those of kind ``found``."""
        return tuple(p for p in self.parameters if p.kind != "found")

    @property
    def arrays(self) -> tuple[Parameter, ...]:
        """Inputs and outputs that are passed, in order."""
        return tuple(p for p in self.parameters if p.kind in ("input", "output"))

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """The function's results, in order: the parameters of kind ``output`` and ``found``."""
        return tuple(p for p in self.parameters if p.kind in ("output", "found"))

    @property
    def dynamic_outputs_length(self) -> int:
        """The number of elements of ``dynamic_outputs``."""
        return 1 + sum(1 + len(p.shape) for p in self.of_kind("found"))

    @property
    def shape_sizes(self) -> tuple[Parameter, ...]:
        """The integers that shapes may depend on: sizes, and int64 or int32 scalars, in order."""
        return tuple(
            p
            for p in self.parameters
            if p.kind == "size" or (p.kind == "scalar" and p.dtype in ("int32", "int64"))
        )

    @property
    def is_static(self) -> bool:
        """Whether every shape and the workspace are known without ``NAME_shapes``."""
        return self.workspace is not None and all(isinstance(d, int) for p in self.arrays for d in p.shape)

    def c_prototype(self) -> str:
        """``int32_t NAME(const float *x, ...)``, without a semicolon."""
        return f"int32_t {self.name}({', '.join(f'{p.c_type}{p.name}' for p in self.c_parameters) or 'void'})"

    def c_shapes_prototype(self) -> str:
        """The prototype of ``NAME_shapes``, without a semicolon."""
        sizes = "".join(f", int64_t {p.name}" for p in self.shape_sizes)
        return f"int32_t {self.name}_shapes(int64_t *out, int64_t threads{sizes})"

    def to_json(self) -> str:
        """The signature as one line of JSON, which ``from_json`` reads."""
        fields: dict[str, Any] = {
            "abi": VERSION,
            "name": self.name,
            "parameters": [
                [p.name, p.kind, p.dtype, list(p.shape), *([p.in_place] if p.in_place else [])]
                for p in self.parameters
            ],
            "workspace": self.workspace,
            "messages": list(self.messages),
            "kernels": list(self.kernels),
            "constants": self.constants,
        }
        return json.dumps(fields, sort_keys=True)

    @staticmethod
    def from_json(text: str | bytes) -> Signature:
        """Read a line that ``to_json`` wrote; a LibraryError for anything else."""
        try:
            fields = json.loads(text)
            if fields["abi"] != VERSION:
                raise LibraryError(
                    f"library has ABI version {fields['abi']}, this runtime supports {VERSION}"
                )
            parameters = tuple(_parameter(row) for row in fields["parameters"])
            return Signature(
                str(fields["name"]),
                parameters,
                None if fields["workspace"] is None else int(fields["workspace"]),
                tuple(_OLD_TERMS.get(text, str(text)) for text in fields["messages"]),
                tuple(map(str, fields["kernels"])),
                int(fields["constants"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, LibraryError):
                raise
            raise LibraryError(f"library metadata cannot be read: {error!r}") from error


_OLD_TERMS: dict[Any, Any] = {
    "told": "dynamic_outputs",
    TOO_SMALL.replace("dynamic_outputs", "told"): TOO_SMALL,
}
"""Terms in libraries exported by tvmlite 0.1 and before, with the current ones."""


def _parameter(row: Any) -> Parameter:
    name, kind, dtype, shape, *in_place = row
    kind = _OLD_TERMS.get(kind, kind)
    if kind not in get_args(Kind):
        raise ValueError(f"parameter kind {kind!r}")
    extents = tuple(d if d is None or isinstance(d, int) else str(d) for d in shape)
    return Parameter(str(name), kind, dtypes.check(dtype), extents, *map(str, in_place))


def check_symbol(name: object) -> str:
    """``name``; an InputError unless it is a C identifier that a library can define."""
    name = arguments.text("name", name, InputError)
    if not name.isascii() or not name.isidentifier() or name in C_KEYWORDS:
        raise InputError(f"name {name!r} is not a C identifier that a library can define")
    return name
