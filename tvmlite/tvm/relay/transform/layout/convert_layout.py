"""``ConvertLayout``: converts operators to desired layouts, and later operators with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tvmlite.relay.ir import nodes
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.transform.functions import over_functions
from tvmlite.tvm.relay.transform.layout import desired
from tvmlite.tvm.relay.transform.layout.rewriter import LayoutRewriter


class LayoutConfig:
    """A context in which ``ConvertLayout`` skips the convolutions with the indices ``skip_layers``, in the
    order of the traversal."""

    current: ClassVar[LayoutConfig | None] = None

    def __init__(self, skip_layers: Sequence[int] | None = None) -> None:
        self.skip_layers = list(skip_layers or ())
        self.skip_counter = 0
        self._outer: LayoutConfig | None = None

    def check_skip(self) -> bool:
        """Whether to skip the next convolution; advances the counter."""
        skipped = self.skip_counter in self.skip_layers
        self.skip_counter += 1
        return skipped

    def reset(self) -> None:
        """Reset the counter to the first convolution and clear ``skip_layers``."""
        self.skip_counter = 0
        self.skip_layers = []

    def __enter__(self) -> LayoutConfig:
        self._outer, LayoutConfig.current = LayoutConfig.current, self
        return self

    def __exit__(self, *error: object) -> None:
        LayoutConfig.current = self._outer


def ConvertLayout(desired_layouts: Mapping[str, Sequence[str]]) -> Pass:
    """A pass that converts operators to the desired layouts of data and kernel,
    ``{"nn.conv2d": ["NHWC", "default"]}``, where "default" is the usual kernel layout for that data layout.
    Later operators adopt the layout if they can; otherwise a ``layout_transform`` is inserted."""
    wanted = {str(op): [str(one) for one in layouts] for op, layouts in dict(desired_layouts).items()}
    for op, layouts in wanted.items():
        desired.check(op, layouts)

    def alter(call: nodes.Call, attrs: dict[str, Any], args: list[Any]) -> Any:
        layouts = wanted.get(str(call.op))
        if layouts is None:
            return None
        config = LayoutConfig.current
        if config is not None and "data_layout" in attrs and config.check_skip():
            return None
        return desired.converted(call, attrs, args, layouts)

    def laid_out(function: Any) -> Any:
        return adopt(LayoutRewriter(alter).run(function))

    return over_functions("ConvertLayout", 3, laid_out, infer=True, required=("InferType", "CanonicalizeOps"))
