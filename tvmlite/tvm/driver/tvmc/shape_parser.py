"""The shapes of inputs in one word: ``"x:[1,3,224,224] y:[1]"``."""

from __future__ import annotations

import argparse
import re

_SHAPE = re.compile(r"\s*(?P<name>[^\[\]]*?):\s*\[(?P<extents>[\s\d,?-]*)\]")


def parse_shape_string(inputs_string: str) -> dict[str, list[int]]:
    """The shapes by name, -1 where an extent is open; an ArgumentTypeError, as argparse takes it, for a text
    of another form."""
    found: dict[str, list[int]] = {}
    place = 0
    while inputs_string[place:].strip():
        match = _SHAPE.match(inputs_string, place)
        if match is None or not match["name"].strip():
            raise argparse.ArgumentTypeError(
                f"--input-shapes is {inputs_string!r}, expected 'name:[extent,...] name:[extent,...]'"
            )
        extents = [one.strip() for one in match["extents"].split(",") if one.strip()]
        if not all(one == "?" or re.fullmatch(r"-?\d+", one) for one in extents):
            raise argparse.ArgumentTypeError(f"--input-shapes: {match[0].strip()!r} has no whole extents")
        found[match["name"].strip().strip("\"'")] = [-1 if one == "?" else int(one) for one in extents]
        place = match.end()
    return found
