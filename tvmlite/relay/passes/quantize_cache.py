"""Store the cache of keys and values as int8 codes in the memory of an input, with a scale for each row."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tvmlite.core.errors import InputError
from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Module, Tuple, Var, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.passes.update_in_place import update_in_place

MAX_CODE = 127
"""The code of a row's largest magnitude: codes are -127 to 127."""

FLOATS = ("float32", "float16", "bfloat16")
"""The dtypes that a cache may have before."""

SCALE = "_scale"
"""The suffix of the names of the inputs and outputs that hold scales."""


def quantize_cache(module: Module, outputs: Mapping[str, str]) -> Module:
    """``module`` with each output of ``outputs`` in int8, updated in place in the input that it names.

    ``outputs`` is as for ``update_in_place``; an output must be a ``tensor_scatter`` of floats along any axis
    but the last. A row is the elements along the last axis: a head of one token. Instead of
    ``past (b, h, t, d)``, the module takes ``past``, int8 of that shape, and ``past_scale``, float32
    ``(b, h, t)``, and has the outputs ``present`` and ``present_scale`` in their memory. Inputs and outputs
    for scales come after all others. An empty cache is all zeros.

    A new row ``x`` is stored as ``round(x / scale)`` with ``scale = max(abs(x)) / 127``, so the error of an
    element is at most half a scale. Readers of the cache read ``code * scale``, for the new rows as well. A
    row with elements that are not finite reads as NaN.

    An InputError says which output or input does not fit, and why.
    """
    if not outputs:
        return module
    update_in_place(module, outputs)  # for its errors
    main, params = module.main, {param.name: param for param in module.main.params}
    caches = {params[past]: _Cache.of(params[past]) for past in outputs.values()}
    scales = {present + SCALE: past + SCALE for present, past in outputs.items()}
    for name in (*scales, *scales.values()):
        if name in params or name in module.output_names:
            raise InputError(f"quantize_cache: there is an input or output {name!r} already")
    body = rewrite(main.body, lambda node: _quantized(node, caches))
    fields = list(body.fields) if isinstance(body, Tuple) else [body]
    for present, past in outputs.items():
        cache = caches[params[past]]
        if not cache.updates:
            raise InputError(
                f"quantize_cache: output {present!r} is a scatter_nd, expected a tensor_scatter",
                getattr(main.body, "span", None),
            )
        fields[module.output_names.index(present)] = cache.updates[0]
        fields.append(cache.updates[1])
    inputs = [caches[one].codes if one in caches else one for one in main.params]
    inputs += [cache.scales for cache in caches.values()]
    made = dataclasses.replace(main, params=tuple(inputs), body=Tuple(tuple(fields)))
    quantized = dataclasses.replace(module.with_main(made), output_names=(*module.output_names, *scales))
    return update_in_place(quantized, {**outputs, **scales})


def _quantized(node: Expr, caches: Mapping[Var, _Cache]) -> Expr:
    """The value of the quantized cache if ``node`` writes a cache; otherwise ``node``."""
    match node:
        case Call("tensor_scatter" | "cache_update", (Var() as past, rows, start)) if past in caches:
            return caches[past].updated(node, rows, start)
        case _:
            return node


@dataclasses.dataclass
class _Cache:
    """The inputs that replace a cache of floats, and their ``updates``."""

    codes: Var
    scales: Var
    dtype: str
    updates: tuple[Expr, ...] = ()

    @staticmethod
    def of(past: Var) -> _Cache:
        """The inputs that replace ``past``; an InputError if it does not hold floats."""
        type_ = past.type
        assert isinstance(type_, TensorType)
        if type_.dtype not in FLOATS:
            given = f"quantize_cache: input {past.name!r} is {type_.dtype}"
            raise InputError(f"{given}, expected {', '.join(FLOATS)}", past.span)
        scales = TensorType(type_.shape[:-1], "float32")
        return _Cache(
            Var(past.name, TensorType(type_.shape, "int8"), past.span),
            Var(past.name + SCALE, scales, past.span),
            type_.dtype,
        )

    def updated(self, node: Call, rows: Expr, start: Expr) -> Expr:
        """The value of the cache after the update ``node``."""
        rank = tensor_type_of(rows).ndim
        attrs = {"axis": node["axis"] % rank, "mode": node["mode"]}
        if attrs["axis"] == rank - 1:
            given = f"quantize_cache: input {self.codes.name!r} is written along its last axis"
            raise InputError(f"{given}, expected another: elements along it share a scale", node.span)
        codes, scales = (
            make("tensor_scatter", past, new, start, span=node.span, **attrs)
            for past, new in zip((self.codes, self.scales), _rounded(rows), strict=True)
        )
        self.updates = codes, scales
        factors = make("expand_dims", scales, axis=-1)
        return _cast(make("multiply", _cast(codes, "float32"), factors), self.dtype)


def _rounded(rows: Expr) -> tuple[Expr, Expr]:
    """The codes of ``rows``, and the scale of each row."""
    wide, largest = _cast(rows, "float32"), constant(MAX_CODE, "float32")
    scale = make("divide", make("max", make("abs", wide), axis=(-1,)), largest)
    is_zero = make("equal", scale, constant(0, "float32"))
    divisor = make("expand_dims", make("where", is_zero, constant(1, "float32"), scale), axis=-1)
    steps = make("round", make("divide", wide, divisor))
    limited = make("clip", steps, a_min=-float(MAX_CODE), a_max=float(MAX_CODE))
    return _cast(limited, "int8"), scale


def _cast(value: Expr, dtype: str) -> Expr:
    return value if tensor_type_of(value).dtype == dtype else make("cast", value, dtype=dtype)
