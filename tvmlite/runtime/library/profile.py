"""The profile of a model: the nanoseconds of each kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.show import html


@dataclass(frozen=True)
class Profile:
    """One run of an entry: ``(kernel, nanoseconds)`` in order of execution, and the time of the whole call.

    ``result`` is the result of the run, ``labels`` are readable names of the kernels. ``str`` gives a table,
    the slowest kernel first.
    """

    kernels: tuple[tuple[str, int], ...]
    nanoseconds: int
    result: object = None
    labels: tuple[str, ...] = ()

    @property
    def outside(self) -> int:
        """Nanoseconds spent outside kernels: in checks, allocation, and the code between kernels."""
        return self.nanoseconds - sum(time for _, time in self.kernels)

    def table(self) -> list[tuple[str, str, str]]:
        """Rows of name, time and share: the kernels, the slowest first, then the rest, and the total."""
        names = self.labels or tuple(name for name, _ in self.kernels)
        times = (nanoseconds for _, nanoseconds in self.kernels)
        rows = sorted(zip(names, times, strict=True), key=lambda row: -row[1])
        rows += [("(outside kernels)", self.outside), ("total", self.nanoseconds)]
        whole = max(self.nanoseconds, 1)
        return [(name, f"{time / 1e3:.1f} us", f"{time / whole:.1%}") for name, time in rows]

    def __repr__(self) -> str:
        rows = self.table()
        width = max(len(name) for name, _, _ in rows)
        return "\n".join(f"{name:<{width}}  {time:>15}  {share:>6}" for name, time, share in rows)

    def _repr_html_(self) -> str:
        return html.grid([("kernel", "time", "share"), *self.table()])
