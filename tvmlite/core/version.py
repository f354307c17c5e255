"""Which tvmlite this is; imported with the package, and so without anything else."""

VERSION = "0.1.0"
