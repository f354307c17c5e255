"""``MergeCompilerRegions``: merges adjacent regions for the same compiler."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.ir.transform import Pass, Sequential
from tvmlite.tvm.relay.graph.regions import BEGIN, END, AnnotatedRegion, AnnotatedRegionSet, is_mark
from tvmlite.tvm.relay.graph.visit import in_order, rebuilt
from tvmlite.tvm.relay.transform.functions import over_functions
from tvmlite.tvm.relay.transform.infer_type import InferType


def MergeCompilerRegions() -> Pass:
    """A pass that removes the marks between adjacent regions for the same compiler, unless the merged region
    would depend on itself through nodes outside."""
    merge = over_functions("MergeCompilerRegions", 0, _merged)
    return Sequential([merge, InferType()], name="MergeCompilerRegions")


def _merged(function: Any) -> Any:
    regions = AnnotatedRegionSet(function)
    _merge(regions, function)

    def rule(old: Any, new: Any) -> Any:
        inside = (
            is_mark(old, BEGIN)
            and is_mark(old.args[0], END)
            and regions.get_region(old) is regions.get_region(old.args[0])
        )
        return new.args[0].args[0] if inside else new

    return rebuilt(function, {}, rule)


def _merge(regions: AnnotatedRegionSet, function: Any) -> None:
    """Merge each region with the regions that it reads. ``apart[region]`` has the regions that it depends on
    through nodes outside both: merged with these, it would depend on itself."""
    apart: dict[AnnotatedRegion, set[AnnotatedRegion]] = {region: set() for region in regions}
    seen: set[AnnotatedRegion] = set()
    for end in in_order(function):
        region = regions.get_region(end) if is_mark(end, END) else None
        if region is None or region in seen:
            continue
        seen.add(region)
        neighbours: dict[AnnotatedRegion, None] = {}
        for begin in region.args:
            read = regions.read_by(begin.args[0])
            for parent in read:
                apart[region] |= apart[parent]
            near = [one for one in read if is_mark(begin.args[0], END) and one.target == region.target]
            neighbours |= dict.fromkeys(near)
            apart[region] |= set(read).difference(near)
        for parent in neighbours:
            if parent is not region and parent not in apart[region]:
                regions.merge(parent, into=region)
                for others in apart.values():
                    if parent in others:
                        others.remove(parent)
                        others.add(region)
