"""``python -m tvmlite``: the command without its script."""

from __future__ import annotations

import sys

from tvmlite.cli import main

sys.exit(main())
