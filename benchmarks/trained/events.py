"""The events of a stage of the benchmark: one line of JSON each, in the file that its job names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def say(job: Mapping[str, Any], event: str, **what: Any) -> None:
    """Append one event."""
    with Path(job["events"]).open("a") as file:
        file.write(json.dumps({"event": event, **what}) + "\n")


def first_line(error: BaseException) -> str:
    """The first line of the message that is not empty."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
