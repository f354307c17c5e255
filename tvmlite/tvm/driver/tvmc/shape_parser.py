"""Parse the shapes of inputs from one string: ``"x:[1,3,224,224] y:[1]"``."""

from __future__ import annotations

import argparse
import re
from typing import Any

from tvmlite.tvm.relay import ty

_SHAPE = re.compile(r"[\s,]*(?P<name>[^\[\]]*?):\s*\[(?P<extents>[^\[\]]*)\]")


def parse_shape_string(inputs_string: str) -> dict[str, list[Any]]:
    """Return the shapes by input name. An extent of -1 or ``?`` becomes ``relay.Any()``, a quoted name, as in
    ``x:["n",3]``, stays a string. A malformed string is an ArgumentTypeError, for argparse."""
    found: dict[str, list[Any]] = {}
    place = 0
    while inputs_string[place:].strip():
        match = _SHAPE.match(inputs_string, place)
        if match is None or not match["name"].strip():
            raise argparse.ArgumentTypeError(
                f"--input-shapes is {inputs_string!r}, expected 'name:[extent,...] name:[extent,...]'"
            )
        extents = [one.strip() for one in match["extents"].split(",") if one.strip()]
        found[match["name"].strip().strip("\"'")] = [_extent(one, match[0].strip()) for one in extents]
        place = match.end()
    return found


def _extent(text: str, whole: str) -> Any:
    if text in ("?", "-1"):
        return ty.Any()
    if re.fullmatch(r"\d+", text):
        return int(text)
    named = re.fullmatch(r"\"(\w+)\"|'(\w+)'", text)
    if named is None:
        raise argparse.ArgumentTypeError(f"--input-shapes: {whole!r} has an extent that is not an integer")
    return named[1] or named[2]
