"""TVM's passes that tvmlite does not have: using one is an error that says what to use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.tvm.absent import missing

_BYOC = "there is one code generator for all of a model; other compilers are not called"
_DEVICES = "there is one device, the CPU"
_VM = "control flow is compiled into the entry of a library: relay.build"
_QUANTIZE = "tvmlite.quantize(mod, data) makes a quantized model"
_SPARSE = "weights are dense"

_INSTEAD: dict[str, str] = {
    "AnnotateMemoryScope": _DEVICES,
    "CapturePostDfsIndexInSpans": "relay.analysis.post_order_visit gives that order",
    "CollagePartition": _BYOC,
    "Conv2dToSparse": _SPARSE,
    "Conv2dToSparse2": _SPARSE,
    "CPSTransform": "relay.transform.ToANormalForm",
    "DenseToSparse": _SPARSE,
    "InstrumentBoundCheckers": "tvmlite.compile(verify=True) compares every kernel with the interpreter",
    "ManifestAlloc": _VM,
    "ManifestLifetimes": _VM,
    "OutlineCompilerFunctionsWithExistingGlobalSymbols": _BYOC,
    "PartialEvaluate": "relay.transform.Inline and relay.transform.FoldConstant",
    "PlanDevices": _DEVICES,
    "QuantizeAnnotate": _QUANTIZE,
    "QuantizeCalibrate": _QUANTIZE,
    "QuantizePartition": _QUANTIZE,
    "QuantizeRealize": _QUANTIZE,
    "RewriteAnnotatedOps": _DEVICES,
    "RemoveStandaloneReshapes": "a reshape is a view of its data: it costs nothing",
    "SimplifyExprPostAlterOp": "relay.transform.SimplifyExpr",
    "SimplifyFCTranspose": "relay.transform.SimplifyExpr and FoldConstant",
    "ToCPS": "relay.transform.ToANormalForm",
    "to_cps": "relay.transform.ToANormalForm",
    "un_cps": "relay.transform.ToANormalForm",
}

ABSENT: dict[str, Callable[..., Any]] = {
    name: missing(f"relay.transform.{name}", instead) for name, instead in _INSTEAD.items()
}
"""A function that raises an error for each of the passes, by name."""
