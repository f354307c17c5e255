"""The command-line parser: argparse with suggestions for mistyped words."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the most similar command, option or choice."""

    def parse_whole(self, words: Sequence[str] | None) -> argparse.Namespace:
        """Parse ``words`` and add them to the options; words that no option takes are the command's error.

        Each command sets ``parser``, its own parser, as a default.
        """
        words = sys.argv[1:] if words is None else list(words)
        options, unknown = self.parse_known_args(words)
        options.words = words
        if unknown:
            parser: Parser = getattr(options, "parser", self)
            known = [name for action in parser._actions for name in action.option_strings]
            near = [_nearest(word.partition("=")[0], known) for word in unknown if word.startswith("-")]
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{''.join(near)}")
        return options

    def error(self, message: str) -> NoReturn:
        """Print ``message``, and exit with status 2."""
        found = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        near = _nearest(found[1], re.findall(r"[\w.-]+", found[2])) if found else ""
        self.exit(2, f"{self.prog}: error: {message}{near}\n  hint: {self.prog} --help says what it takes\n")


def _nearest(word: str, known: Sequence[str]) -> str:
    """A question that suggests the one of ``known`` most similar to ``word``; empty if there is none."""
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""
