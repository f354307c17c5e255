"""Where a model's time goes: nanoseconds kernel by kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """One run of an entry: ``(kernel, nanoseconds)`` in the order they ran, and the whole call's time.

    ``result`` is what the run returned, ``labels`` are what people call the kernels. ``str`` gives a table,
    the slowest first.
    """

    kernels: tuple[tuple[str, int], ...]
    nanoseconds: int
    result: object = None
    labels: tuple[str, ...] = ()

    @property
    def outside(self) -> int:
        """Nanoseconds spent outside kernels: checks, allocation, and the calls between kernels."""
        return self.nanoseconds - sum(time for _, time in self.kernels)

    def __str__(self) -> str:
        names = self.labels or tuple(name for name, _ in self.kernels)
        times = (nanoseconds for _, nanoseconds in self.kernels)
        rows = sorted(zip(names, times, strict=True), key=lambda row: -row[1])
        rows += [("(outside kernels)", self.outside), ("total", self.nanoseconds)]
        width = max(len(name) for name, _ in rows)
        whole = max(self.nanoseconds, 1)
        return "\n".join(
            f"{name:<{width}}  {time / 1e3:>12.1f} us  {time / whole:>6.1%}" for name, time in rows
        )
