"""Where techniques come from: packages that enter themselves in the tables of te and relay.

The tables (schedule templates, operators, passes for a target) know no processor. What fills them lies to the
right of them and is therefore loaded by name, once, when a table is first asked for what it does not have.
"""

from __future__ import annotations

import functools
import importlib

PROVIDERS = ("tvmlite.techniques",)
"""Packages that register techniques when they are imported: one a kind of device."""


@functools.cache
def load() -> None:
    """Import all ``PROVIDERS``."""
    for name in PROVIDERS:
        importlib.import_module(name)
