"""Index arithmetic: canonical forms, intervals and proofs."""

from tvmlite.te.arith.analyzer import Analyzer, equal, mentions, simplify
from tvmlite.te.arith.interval import Interval
from tvmlite.te.arith.simplify import same

__all__ = ["Analyzer", "Interval", "equal", "mentions", "same", "simplify"]
