"""Command-line options for registries whose kinds have options of their own: executors and runtimes."""

from __future__ import annotations

import argparse
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing

_TYPES = {"runtime.String": str, "IntImm": int}
"""The Python types of options, by TVM's type names."""


def generate_registry_args(
    parser: argparse.ArgumentParser, registry: Any, default: str | None = None
) -> None:
    """Add to ``parser`` the option that selects a kind of ``registry`` (``Executor``, ``Runtime``), and the
    options of each kind: ``--executor graph``, ``--executor-graph-link-params 1``."""
    flag = registry.flag_registry_name
    kinds = registry.list_registered()
    parser.add_argument(f"--{flag}", default=default, help=f"the {flag}: {' or '.join(kinds)}")
    for kind in kinds:
        for option, type_name in registry.list_registered_options(kind).items():
            parser.add_argument(
                f"--{flag}-{kind}-{option}",
                type=_TYPES[type_name],
                metavar="VALUE",
                help=f"of --{flag} {kind}",
            )


def reconstruct_registry_entity(args: argparse.Namespace, registry: Any) -> Any:
    """Return the executor or runtime that ``args`` describe; None if they name no kind. An unknown kind, or
    an option of another kind, is an InputError."""
    flag = registry.flag_registry_name
    chosen = getattr(args, flag)
    if chosen is None:
        return None
    if chosen not in registry.list_registered():
        raise InputError(f'{flag.title()} "{chosen}" is not defined')
    given = {kind: _given(args, registry, kind) for kind in registry.list_registered()}
    for kind, options in given.items():
        if options and kind != chosen:
            option = next(iter(options))
            raise InputError(f"Passed --{flag}-{kind}-{option} but did not specify {kind} {flag}")
    return registry(chosen, given[chosen])


def _given(args: argparse.Namespace, registry: Any, kind: str) -> dict[str, Any]:
    """Return the options of ``kind`` that were given."""
    found = {
        option: getattr(args, f"{registry.flag_registry_name}_{kind}_{option.replace('-', '_')}")
        for option in registry.list_registered_options(kind)
    }
    return {option: value for option, value in found.items() if value is not None}


__getattr__ = refusing(__name__)
