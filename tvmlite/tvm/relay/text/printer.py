"""Prints modules and expressions in TVM 0.11's format: a version, a line per value, inferred types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tvmlite.core.node import postorder
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.infer import known_type
from tvmlite.relay.text import literals
from tvmlite.relay.text.printer import Layout, Printer, not_default, run_nested
from tvmlite.te import expr as te
from tvmlite.tvm.ir import source
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import GlobalVar, adopt
from tvmlite.tvm.relay.graph.inferred import is_inferred
from tvmlite.tvm.relay.text.operators import as_in_tvm, is_left_out
from tvmlite.tvm.relay.text.order import Order

HEADER = '#[version = "0.0.5"]\n'


def astext(node: Any, show_meta_data: bool = True, annotate: Callable[[Any], str] | None = None) -> str:
    """The text of a module, function or expression. With ``show_meta_data``, the constants that are not
    scalars follow. ``annotate`` returns the comment after a value, which replaces its type."""
    return HEADER + pretty(node, show_meta_data, annotate)


def pretty(node: Any, show_meta_data: bool = False, annotate: Callable[[Any], str] | None = None) -> str:
    """The text without the version header and, by default, without the constants: the text of ``print``."""
    constants: dict[str, nodes.Constant] = {}
    names = _Names()
    if isinstance(node, IRModule):
        parts = []
        for var, function in node.functions.items():
            if isinstance(function, nodes.Function):
                printer = _TvmPrinter(function.body, constants, annotate, names, function.params)
                parts.append(printer.definition(var.name, function))
            else:
                parts.append(f"@{var.name} = {function}\n")
        text = "\n".join(parts)
    elif isinstance(node, str):
        text = str(node)
    else:
        node = adopt(node)
        text = _TvmPrinter(node, constants, annotate, names).expression(node)
    if show_meta_data and constants:
        text = text.rstrip("\n") + "\n\n" + literals.metadata_section(constants)
    return text


class _Names:
    """Unique names of variables and numbers of values; in a module, the numbering continues from one function
    to the next."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._variables: dict[Any, str] = {}
        self._count = 0

    def number(self) -> int:
        """The next number."""
        self._count += 1
        return self._count - 1

    def variable(self, var: Any) -> str:
        """The name of ``var``, with a number appended if the name is taken."""
        if var not in self._variables:
            hint = f"v{var.name}" if var.name[:1].isdigit() else var.name
            name, count = hint, 0
            while name in self._taken:
                count += 1
                name = f"{hint}{count}"
            self._taken.add(name)
            self._variables[var] = _quoted(name)
        return self._variables[var]


class _TvmLayout(Layout):
    """The layout in which all values except variables and constants have their own line."""

    def is_inline(self, node: Any) -> bool:
        return isinstance(node, (nodes.Var, nodes.Constant))

    def ordered(self, order: dict[Any, int]) -> list[Any]:
        """Sort the statements of all blocks by ``order``; return the values that have lines, sorted."""
        scopes = {id(scope): scope for scope in map(self.scope_of, self.order)}
        for scope in scopes.values():
            scope.statements.sort(key=order.__getitem__)
        lines = [node for scope in scopes.values() for node in scope.statements]
        return sorted(lines, key=order.__getitem__)

    def is_inline_operand(self, node: Any, index: int) -> bool:
        return isinstance(node, nodes.Let) and index == 0


_WITHOUT_DEFAULT = {
    **dict.fromkeys(("nn.dense", "nn.matmul", "nn.contrib_dense_pack", "qnn.dense"), ("units",)),
    **dict.fromkeys(
        [f"nn.conv{rank}d{kind}" for rank in (2, 3) for kind in ("", "_transpose")], ("padding",)
    ),
    **dict.fromkeys(("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc"), ("padding",)),
    **dict.fromkeys(
        [f"nn.{kind}_pool{rank}d" for kind in ("max", "avg") for rank in (1, 2, 3)], ("pool_size", "padding")
    ),
    **dict.fromkeys(("zeros", "ones"), ("dtype",)),
    "nn.l2_normalize": ("eps", "axis"),
    "nn.nll_loss": ("ignore_index",),
    "nn.upsampling": ("scale_h", "scale_w"),
    "nn.upsampling3d": ("scale_d", "scale_h", "scale_w"),
    **dict.fromkeys([f"image.resize{rank}d" for rank in (1, 2, 3)], ("roi",)),
    **dict.fromkeys(("argsort", "ndarray_size", "shape_of"), ("dtype",)),
    **dict.fromkeys(("qnn.quantize", "qnn.dequantize", "qnn.requantize"), ("out_dtype",)),
    "qnn.conv2d": ("padding", "out_dtype"),
    "slice_like": ("axes",),
    "strided_slice": ("axes", "strides"),
    "topk": ("k", "dtype"),
    "transpose": ("axes",),
}
"""Attributes that TVM's text always has, even with their default value."""

_FIRST = {
    **dict.fromkeys(
        [f"nn.conv{rank}d_transpose" for rank in (1, 2, 3)],
        ("channels", "kernel_size", "strides", "output_padding"),
    ),
    "nn.contrib_dense_pack": ("units", "out_dtype"),
    "nn.mirror_pad": ("mode",),
    "qnn.quantize": ("out_dtype",),
    "qnn.dequantize": ("out_dtype",),
    "strided_slice": ("begin", "end", "strides", "slice_mode"),
    "take": ("batch_dims",),
}
"""Attributes that come first in TVM's text, for operators where its order differs from the table's."""


_ARGUMENTS = {"vision.get_valid_counts": ("score_threshold",)}
"""TVM's attributes that are always None, as an argument has the same name."""


def _written(call: Any) -> list[tuple[str, Any]]:
    """The attributes of ``call`` that TVM's text has, in its order."""
    name = str(call.op)
    shown = {*dict(not_default(call)), *_WITHOUT_DEFAULT.get(name, ())}
    order = [*_FIRST.get(name, ()), *(table.get(name).attrs if table.is_known(name) else ())]
    attrs = as_in_tvm(name, call.attrs)
    left_out = {key: is_left_out(name, key, value) for key, value in attrs}
    own = [
        (key, value) for key, value in attrs if (key in shown if left_out[key] is None else not left_out[key])
    ]
    own.sort(key=lambda one: order.index(one[0]) if one[0] in order else len(order))
    return [*own, *((key, None) for key in _ARGUMENTS.get(name, ()))]


class _TvmPrinter(Printer):
    """Writes one function or expression."""

    layout = _TvmLayout
    _layout: _TvmLayout

    def __init__(
        self,
        root: Any,
        constants: dict[str, Any],
        annotate: Callable[[Any], str] | None,
        names: _Names,
        params: Sequence[Any] = (),
    ) -> None:
        super().__init__(root, constants)
        self._annotate = annotate
        order = Order(root, params)
        self._texts.update({var: names.variable(var) for var in order.variables})
        self._numbers = {node: names.number() for node in self._layout.ordered(order.values)}

    def _number(self, node: Any) -> int:
        return self._numbers[node]

    def expression(self, root: Any) -> str:
        """The lines of an expression, after the declarations of its free variables."""
        order = [node for node in self._layout.order if not isinstance(node, GlobalVar)]
        for var in nodes.free_variables(order):
            self._lines.append(f"free_var {self._typed(var)};")
        run_nested(self._block(self._layout.root_scope, root, 0, ""))
        return "\n".join(self._lines)

    def _function(self, start: str, function: Any, scope: Any, depth: int, end: str) -> Iterator[Any]:
        params = [self._typed(param) for param in function.params]
        attrs = [f"{name}={show_attribute(value)}" for name, value in function.attrs]
        result = getattr(function, "declared", None)
        if result is None and is_inferred(function):
            result = known_type(function.body)
        written = "" if result is None or result is ty.INCOMPLETE else f" -> {show_type(result)}"
        self._line(depth, f"{start}({', '.join([*params, *attrs])}){written} {{")
        yield self._block(scope, function.body, depth + 1, "")
        comment = "" if start.startswith("def ") else self._comment(function)
        self._line(depth, f"}}{comment}{end}")

    def _statement(self, start: str, node: Any, depth: int, end: str) -> Iterator[Any]:
        if isinstance(node, nodes.Let) and not start:
            value = node.value
            if value in self._texts or self._layout.is_inline(value):
                self._line(depth, f"let {self._typed(node.var)} = {self._text(value)};")
            else:
                name = self._typed(node.var)
                yield self._statement(f"let {name} = ", value, depth, ";")
        elif isinstance(node, nodes.Let):
            self._line(depth, f"{start}(")
            yield self._statement("", node, depth + 1, ";")
            yield self._block(self._layout.blocks[node, 1], node.body, depth + 1, "")
            self._line(depth, f"){end}")
        else:
            yield super()._statement(start, node, depth, end)

    def _simple(self, node: Any) -> str:
        comment = self._comment(node)
        if isinstance(node, nodes.TupleGetItem):
            return f"{self._text(node.value)}.{node.index}{comment}"
        if isinstance(node, nodes.Tuple):
            return self._tuple(node) + comment
        name = node.op if isinstance(node.op, str) else self._text(node.op)
        items = [self._text(arg) for arg in node.args]
        items += [f"{key}={show_attribute(value)}" for key, value in _written(node)]
        return f"{name}({', '.join(items)}){comment}"

    def _comment(self, node: Any) -> str:
        if self._annotate is not None:
            text = self._annotate(node)
            return f" /* {text} */" if text else ""
        type_ = known_type(node) if is_inferred(node) else None
        parts = [] if type_ is None else [f"ty={show_type(type_)}"]
        if type(getattr(node, "span", None)) is source.Span:
            parts.append(f"span={node.span.source}:{node.span.line}:0")
        return f" /* {' '.join(parts)} */" if parts else ""

    def _text(self, node: Any) -> str:
        if node in self._texts:
            return self._texts[node]
        if isinstance(node, GlobalVar):
            return f"@{node.name}"
        if isinstance(node, nodes.Constant):
            if node.data.ndim == 0:
                return (literals.inline(node) or self._meta(node)) + self._comment(node)
            return self._meta(node) + self._comment(node)
        return super()._text(node)

    def _meta(self, node: nodes.Constant) -> str:
        key = literals.remember(node)
        self._constants.setdefault(key, node)
        return f"meta[relay.Constant][{list(self._constants).index(key)}]"

    def _typed(self, var: Any) -> str:
        name = self._declare(var)
        if var.type is ty.INCOMPLETE:
            return name
        comment = f" /* ty={show_type(var.type)} */" if self._annotate is None and is_inferred(var) else ""
        return f"{name}: {show_type(var.type)}{comment}"

    def _declare(self, var: Any) -> str:
        return self._texts[var]


def _quoted(name: str) -> str:
    return "%" + (name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name))


def show_attribute(value: Any) -> str:
    """An attribute's value in TVM's text: floats end with ``f``."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(show_attribute, value))}]"
    if type(value) is float:
        return (
            f"{value:.9g}".replace("e+", "e") + "f" if value - value == 0 else literals.show_attribute(value)
        )
    return literals.show_attribute(value)


def show_type(type_: Any) -> str:
    """A type in TVM's text: a scalar is its dtype, an unknown extent is ``?``."""
    if isinstance(type_, ty.types.TensorType):
        if not type_.shape:
            return type_.dtype
        extents = [_extent(one) for one in type_.shape]
        return f"Tensor[({', '.join(extents)}), {type_.dtype}]"
    if isinstance(type_, ty.types.TupleType):
        items = [show_type(field) for field in type_.fields]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(type_, ty.types.FuncType):
        return f"fn ({', '.join(map(show_type, type_.params))}) -> {show_type(type_.result)}"
    return str(type_)


def _extent(extent: Any) -> str:
    if isinstance(extent, te.Expr) and any(isinstance(node, ty.Any) for node in postorder(extent)):
        return "?"
    return extent.__str__() if isinstance(extent, int) else ty.types.show_dim(extent)
