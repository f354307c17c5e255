"""How to install optional parts from the source of this tvmlite: a checkout, an archive or the index."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit


def how_to_install(extra: str) -> str:
    """The command that installs an optional part of tvmlite, such as ``onnx`` or ``tune``.

    pip records where it installed a package from (PEP 610, ``direct_url.json``), unless from an index.
    """
    place = _checkout() or _origin()
    if place is None:
        return f"pip install 'tvmlite[{extra}]'"
    if "://" in place:
        return f"pip install 'tvmlite[{extra}] @ {place}'"
    return f"pip install '{place}[{extra}]'"


def _checkout() -> str | None:
    """The checkout that this module is in; None if it is installed elsewhere."""
    folder = Path(__file__).resolve().parents[2]
    project = folder / "pyproject.toml"
    is_ours = project.is_file() and 'name = "tvmlite"' in project.read_text(encoding="utf-8")
    return str(folder) if is_ours else None


def _origin() -> str | None:
    """The folder, file or URL that pip installed from; None for the index."""
    import importlib.metadata  # only errors need it, and it is slow to import

    try:
        text = importlib.metadata.distribution("tvmlite").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    if text is None:
        return None
    origin = json.loads(text)
    url = urlsplit(origin["url"])
    if url.scheme == "file":
        return unquote(url.path)
    kind = origin.get("vcs_info", {}).get("vcs")
    return f"{kind}+{origin['url']}" if kind else origin["url"]
