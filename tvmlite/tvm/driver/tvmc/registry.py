"""Options of a command line for things that have kinds and options of each: executors and runtimes."""

from __future__ import annotations

import argparse
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing

_TYPES = {"runtime.String": str, "IntImm": int}
"""The types of options in Python, by TVM's names."""


def generate_registry_args(
    parser: argparse.ArgumentParser, registry: Any, default: str | None = None
) -> None:
    """Add to ``parser`` the option for a kind of ``registry`` (``Executor``, ``Runtime``), and those of each
    kind: ``--executor graph``, ``--executor-graph-link-params 1``."""
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
    """The thing that ``args`` describes, None if they name no kind. An InputError for a kind that there is
    not, or for an option of another one."""
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
    """The options of ``kind`` that are given."""
    found = {
        option: getattr(args, f"{registry.flag_registry_name}_{kind}_{option.replace('-', '_')}")
        for option in registry.list_registered_options(kind)
    }
    return {option: value for option, value in found.items() if value is not None}


__getattr__ = refusing(__name__)
