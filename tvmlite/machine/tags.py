"""TVM's target tags: names of machines that stand for the options of a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CORES = {
    "skylake-avx512": {"large": 1, "xlarge": 2, "2xlarge": 4, "4xlarge": 8, "9xlarge": 18, "18xlarge": 36},
    "cascadelake": {"12xlarge": 24, "24xlarge": 48},
}
"""The number of cores of Amazon's c5 instances, by processor and size."""

TAGS: Mapping[str, Mapping[str, Any]] = {
    "raspberry-pi/4b-aarch64": {
        "kind": "llvm",
        "mtriple": "aarch64-linux-gnu",
        "mcpu": "cortex-a72",
        "mattr": ["+neon"],
        "num-cores": 4,
        "keys": ["arm_cpu", "cpu"],
    },
    **{
        f"aws/cpu/c5.{size}": {"kind": "llvm", "mcpu": cpu, "num-cores": count, "keys": ["x86", "cpu"]}
        for cpu, sizes in _CORES.items()
        for size, count in sizes.items()
    },
}
"""The options of targets, by tag."""
