"""The ``tvmlite`` command from its first line on, and ``python -m tvmlite``: Ctrl-C ends it in one line.

Also while it imports what it needs, which takes most of the time of a short command: so this module imports
nothing of ours before it is ready.
"""

from __future__ import annotations

import sys

_lost: list[KeyboardInterrupt] = []
"""Those of Ctrl-C that came where Python can raise nothing: in a destructor, say."""


def main() -> int:
    """Run the command of the command line. The exit status is that of ``cli.main``, or 130 on Ctrl-C."""
    sys.unraisablehook = _keep_interrupt
    try:
        from tvmlite import cli

        status = cli.main()
        if _lost:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("tvmlite: interrupted", file=sys.stderr)
        # After an interrupt that came through an exec of text, as dataclasses do, CPython would end by the
        # signal in spite of the status, until it executes another text.
        exec("")
        return 130
    return status


def _keep_interrupt(unraisable: sys.UnraisableHookArgs) -> None:
    """Remember a lost KeyboardInterrupt; report anything else as Python does."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _lost.append(unraisable.exc_value)
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    sys.exit(main())
