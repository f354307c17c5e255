"""The program written so far: its tensors, its extents, and unused names."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tvmlite.core import dtype as dtypes

LARGEST = 6000
"""The largest number of iterations of a generated stage."""

EXTENTS = (1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 13, 16, 16, 17, 19, 31, 32, 33, 40)
_DTYPES = (*("float32",) * 8, *("int32",) * 4, *dtypes.ALL)


@dataclass(frozen=True)
class Dim:
    """An extent: its text, and its value."""

    text: str
    value: int

    def __str__(self) -> str:
        return self.text if self.text.isalnum() else f"({self.text})"

    def plus(self, more: int) -> Dim:
        """Return the extent plus ``more``."""
        if not more:
            return self
        text = str(self.value + more) if self.text.isdecimal() else f"{self.text} + {more}"
        return Dim(text.replace("+ -", "- "), self.value + more)

    def times(self, other: Dim) -> Dim:
        """Return the product of both extents."""
        value = self.value * other.value
        both = self.text.isdecimal() and other.text.isdecimal()
        return Dim(str(value) if both else f"({self.text}) * ({other.text})", value)


@dataclass(frozen=True)
class KnownTensor:
    """A tensor of the program."""

    name: str
    dims: tuple[Dim, ...]
    dtype: str

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for dim in self.dims:
            size *= dim.value
        return size


@dataclass
class Builder:
    """The program written so far."""

    rnd: random.Random
    lines: list[str] = field(default_factory=list)
    tensors: list[KnownTensor] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    computed: list[KnownTensor] = field(default_factory=list)
    count: int = 0

    def fresh(self, letter: str) -> str:
        """Return an unused name."""
        self.count += 1
        return f"{letter}{self.count}"

    def constant(self, value: int) -> Dim:
        """Return an extent that is a literal number in the program."""
        return Dim(str(value), value)

    def extent(self, small: bool = False, least: int = 0) -> Dim:
        """Return a random extent: mostly a number, sometimes a variable, rarely zero."""
        rnd = self.rnd
        value = rnd.choice(EXTENTS[:12] if small else EXTENTS)
        if least == 0 and rnd.random() < 0.012:
            value = 0
        value = max(value, least)
        if rnd.random() < 0.15:
            return self.symbol(value)
        return Dim(str(value), value)

    def symbol(self, value: int) -> Dim:
        """Return a variable extent of ``value``, new or existing."""
        known = [name for name, have in self.sizes.items() if have == value]
        if known and self.rnd.random() < 0.5:
            return Dim(self.rnd.choice(known), value)
        if len(self.sizes) >= 3:
            return Dim(str(value), value)
        name = "nmw"[len(self.sizes)]
        self.sizes[name] = value
        self.lines.append(f'{name} = te.{self.rnd.choice(("var", "size_var"))}("{name}")')
        return Dim(name, value)

    def dtype(self) -> str:
        """Return a random dtype: float32 and int32 are the most frequent."""
        return self.rnd.choice(_DTYPES)

    def placeholder(self, dims: tuple[Dim, ...], dtype: str) -> KnownTensor:
        """Write a ``te.placeholder``: an input of the program."""
        name = self.fresh("A")
        self.lines.append(f'{name} = te.placeholder({shape(dims)}, "{dtype}", name="{name}")')
        made = KnownTensor(name, dims, dtype)
        self.tensors.append(made)
        return made

    def reduce_axis(self, extent: Dim) -> str:
        """Write a ``te.reduce_axis`` from 0 to ``extent``; return its name."""
        name = self.fresh("k")
        self.lines.append(f'{name} = te.reduce_axis((0, {extent}), name="{name}")')
        return name

    def compute(self, dims: tuple[Dim, ...], axes: list[str], body: str, dtype: str) -> KnownTensor:
        """Write a ``te.compute`` of one output whose formula is ``body``, over the names ``axes``."""
        name = self.fresh("T")
        self.lines.append(
            f'{name} = te.compute({shape(dims)}, lambda {", ".join(axes)}: {body}, name="{name}")'
        )
        return self.add(KnownTensor(name, dims, dtype))

    def computes(
        self, dims: tuple[Dim, ...], axes: list[str], body: str, kinds: list[str]
    ) -> list[KnownTensor]:
        """Write a compute of several outputs, with the dtypes ``kinds``."""
        names = [self.fresh("T") for _ in kinds]
        text = f'te.compute({shape(dims)}, lambda {", ".join(axes)}: {body}, name="{names[0]}")'
        self.lines.append(f"{', '.join(names)} = {text}")
        return [self.add(KnownTensor(name, dims, dtype)) for name, dtype in zip(names, kinds, strict=True)]

    def add(self, made: KnownTensor) -> KnownTensor:
        """Record a tensor that a statement of the program computes, so that later ones may read it."""
        self.tensors.append(made)
        self.computed.append(made)
        return made

    def pick(
        self, rank: int | None = None, kinds: tuple[str, ...] = dtypes.ALL, least: int = 0
    ) -> KnownTensor:
        """Return a tensor to start from: mostly the last computed one, else an older or a new one."""
        fits = [
            x
            for x in self.tensors
            if (rank is None or len(x.dims) == rank)
            and x.dtype in kinds
            and all(d.value >= least for d in x.dims)
        ]
        recent = [x for x in fits if x in self.computed]
        if recent and self.rnd.random() < 0.8:
            return recent[-1]
        if fits and self.rnd.random() < 0.4:
            return self.rnd.choice(fits)
        chosen = rank if rank is not None else self.rnd.choice((0, 1, 1, 2, 2, 2, 3, 4))
        dims: list[Dim] = []
        room = LARGEST // 4
        for _ in range(chosen):
            dim = self.extent(small=chosen > 2 or room < 40, least=least)
            room //= max(dim.value, 1)
            dims.append(dim)
        options = [d for d in _DTYPES if d in kinds]
        return self.placeholder(tuple(dims), self.rnd.choice(options))

    def arith(self, dtype: str) -> str:
        """Return a dtype to compute in, given that of an input: usually the same."""
        if dtype == "bool" or self.rnd.random() < 0.2:
            return self.rnd.choice([d for d in _DTYPES if d != "bool"])
        return dtype


def shape(dims: tuple[Dim, ...]) -> str:
    """Return a shape as text."""
    return f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"


def axes_of(rank: int) -> list[str]:
    """Return names of ``rank`` axes."""
    return list("ijlpqr"[:rank])


def index(axes: list[str]) -> str:
    """Return indices as text; the empty tuple without axes."""
    return ", ".join(axes) or "()"


def same(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    """Whether both shapes have the same text; extents with only their value in common differ."""
    return [d.text for d in a] == [d.text for d in b]
