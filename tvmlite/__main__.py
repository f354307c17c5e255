"""The entry point of the ``tvmlite`` command and of ``python -m tvmlite``: Ctrl-C ends it with one line.

This includes the imports, which take most of the time of a short command. Therefore this module imports
nothing of tvmlite before it can handle Ctrl-C.
"""

from __future__ import annotations

import sys

_lost: list[KeyboardInterrupt] = []
"""KeyboardInterrupts that were raised where Python ignores exceptions, such as in a destructor."""


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
        # After an interrupt inside an exec of text, as dataclasses do it, CPython would end by the signal
        # despite the status, until it executes another text.
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
