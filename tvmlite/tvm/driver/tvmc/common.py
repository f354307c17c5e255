"""Helpers that the commands share, and names that programs import from ``tvm.driver.tvmc.common``."""

from __future__ import annotations

from urllib.parse import urlsplit

from tvmlite.core.errors import TvmliteError as TVMCException
from tvmlite.tvm.driver.tvmc.pass_config import parse_configs
from tvmlite.tvm.driver.tvmc.shape_parser import parse_shape_string
from tvmlite.tvm.driver.tvmc.target import parse_target, target_from_cli, tokenize_target
from tvmlite.tvm.driver.tvmc.transform import convert_graph_layout

TVMCImportError = TVMCException

__all__ = [
    "TVMCException",
    "TVMCImportError",
    "convert_graph_layout",
    "parse_configs",
    "parse_shape_string",
    "parse_target",
    "target_from_cli",
    "tokenize_target",
    "tracker_host_port_from_cli",
]

_PORT = 9090
"""The default port of TVM's trackers."""


def tracker_host_port_from_cli(rpc_tracker_str: str | None) -> tuple[str | None, int | None]:
    """Return the host and the port of an RPC tracker, ``"host:port"``; ``(None, None)`` if none is given."""
    if not rpc_tracker_str:
        return None, None
    place = urlsplit(f"//{rpc_tracker_str}")
    return place.hostname, place.port or _PORT
