"""What rooms on the right provide is found, whoever was imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvmlite.core.provided import PROVIDERS, provided


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_provider_gives_what_it_is_named_for(name: str) -> None:
    assert provided(name).__module__ == PROVIDERS[name]


def test_the_graph_level_is_imported_without_the_driver_and_finds_it() -> None:
    program = (
        "import sys\n"
        "from tvmlite import relay\n"
        "print('tvmlite.driver' in sys.modules)\n"
        "from tvmlite.core.provided import provided\n"
        "print(provided('compile').__module__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "tvmlite.driver"]
