"""Reads the constants in a text's metadata section: TVM's objects as JSON, with arrays in base64."""

from __future__ import annotations

import base64
import json
from typing import Any

from tvmlite.core.errors import InputError, ParseError
from tvmlite.relay.ir import nodes
from tvmlite.relay.text import literals
from tvmlite.tvm.runtime_params import read_array

_CONSTANTS = "relay.Constant"


def constants_of(section: str) -> dict[str, nodes.Constant]:
    """The constants of a section written by TVM or tvmlite, in the order of their numbers in the text."""
    try:
        table = json.loads(section)
    except ValueError as error:
        raise _damaged(str(error)) from error
    if not isinstance(table, dict) or "b64ndarrays" not in table:
        return literals.read_metadata(section)
    try:
        objects, arrays = table["nodes"], table["b64ndarrays"]
        root = objects[table["root"]]
        kinds = dict(zip(root["keys"], root["data"], strict=True))
        numbers = objects[kinds[_CONSTANTS]]["data"] if _CONSTANTS in kinds else []
        places = [int(objects[number]["attrs"]["data"]) for number in numbers]
        texts = [arrays[place] for place in places]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from error
    return {f"{_CONSTANTS} {number}": _constant(number, text) for number, text in enumerate(texts)}


def _constant(number: int, text: Any) -> nodes.Constant:
    try:
        return nodes.Constant(read_array(f"{_CONSTANTS}[{number}]", base64.b64decode(text, validate=True)))
    except (ValueError, TypeError, InputError) as error:
        raise _damaged(f"{_CONSTANTS}[{number}]: {error}") from error


def _damaged(why: str) -> ParseError:
    return ParseError(f"the metadata section is damaged: {why}")
