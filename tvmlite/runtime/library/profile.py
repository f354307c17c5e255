"""Where a model's time goes: nanoseconds kernel by kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.show import html


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

    def table(self) -> list[tuple[str, str, str]]:
        """Kernels as rows of name, time and share, the slowest first; then what is outside, and the whole."""
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
