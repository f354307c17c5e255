"""The graph of a model as a page, in Python: to show in a notebook, or to save."""

from __future__ import annotations

from collections.abc import Mapping

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.graph_page import drawing
from tvmlite.graph_page.page import page
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.nodes import Module
from tvmlite.runtime.library.profile import Profile
from tvmlite.show.html import Page


def draw(
    model: Module | CompiledModule,
    sizes: Mapping[str, int] | None = None,
    profile: Profile | None = None,
    title: str = "model",
) -> Page:
    """Return the page of ``tvmlite show --html``: the graph of ``model``, for a compiled one after all
    passes.

    ``sizes`` has numbers for open dimensions by name, to count bytes and operations. ``profile`` is the
    result of ``lib.profile(x)``; then ``model`` is ``lib``, and boxes show the times of kernels. A notebook
    shows the page; ``.save(path)`` writes it.

    Raises InputError for anything but a module or a compiled one, and for a profile of another model.
    """
    what = "a module or a compiled one"
    arguments.instance("draw: model", model, (Module, CompiledModule), what, InputError)
    arguments.text("draw: title", title, InputError)
    times: list[float] = []
    if profile is not None:
        arguments.instance("draw: profile", profile, Profile, "what lib.profile gives", InputError)
        expected = len(model.kernel_labels) if isinstance(model, CompiledModule) else 0
        if len(profile.kernels) != expected:
            raise InputError(
                f"draw: profile is of {len(profile.kernels)} kernels, the model has {expected}",
                hint="draw(lib, profile=lib.profile(x))",
            )
        times = [nanoseconds / 1e3 for _, nanoseconds in profile.kernels]
    module = model.module if isinstance(model, CompiledModule) else model
    said = "after all passes" if isinstance(model, CompiledModule) else "as it is"
    given = "".join(f", {name} = {value}" for name, value in (sizes or {}).items())
    return page(drawing.draw(module, dict(sizes or {}), times), title, f"{said}{given}")
