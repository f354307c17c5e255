"""``relay.quantize``: quantization with the options of a ``with`` block, by ``tvmlite.relay.quantize``.

::

    with relay.quantize.qconfig(calibrate_mode="kl_divergence", skip_conv_layers=[0]):
        mod = relay.quantize.quantize(mod, params, dataset=calibration_data)

The resulting graph computes in floats with rounding; ``relay.build`` compiles it to integer kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span, warn
from tvmlite.relay.ir.nodes import Call, Module
from tvmlite.relay.quantize.layers import OPERATORS, is_product, names_of
from tvmlite.relay.quantize.prepare import prepare
from tvmlite.relay.quantize.quantize import quantize as quantize_module
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm.task.relay_integration import bound
from tvmlite.tvm.ir.module import IRModule

_MODES = {"kl_divergence": "entropy", "percentile": "percentile", "global_scale": ""}
"""The calibration methods of ``tvmlite.relay.quantize`` by TVM's ``calibrate_mode``."""

_ANY: Mapping[str, Any] = {
    "calibrate_chunk_by": -1,
    "round_for_shift": True,
    "global_scale": 8.0,
}
"""Options without effect, with TVM's defaults: shifts of TVM's integer kernels, and calibration."""

_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "nbit_input": (8,),
    "nbit_weight": (8,),
    "nbit_activation": (32,),
    "dtype_input": ("int8",),
    "dtype_weight": ("int8",),
    "dtype_activation": ("int32",),
    "calibrate_mode": ("global_scale", "kl_divergence", "percentile"),
    "weight_scale": ("power2", "max"),
    "skip_dense_layer": (True, False),
    "do_simulation": (False,),
    "debug_enabled_ops": (None,),
    "rounding": ("UPWARD", "TONEAREST"),
    "partition_conversions": ("disabled",),
}
"""The supported values of the other options, the default first."""


class QConfig:
    """The options of ``quantize`` in a ``with`` block; see ``qconfig``."""

    _blocks: list[QConfig] = []  # noqa: RUF012  the options of the nested blocks, innermost last

    def __init__(self, **options: Any) -> None:
        self._options = {
            **_ANY,
            **{name: values[0] for name, values in _CHOICES.items()},
            "skip_conv_layers": [0],
        }
        for name, value in options.items():
            if name not in self._options:
                known = ", ".join(sorted(self._options))
                warn(f"qconfig: there is no option {name}, which changes nothing; there are {known}")
                continue
            self._options[name] = _checked(name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._options:
            raise AttributeError(f"qconfig has no option {name!r}")
        return self._options[name]

    def guard(self, ref_call: Any) -> bool:
        """Whether to quantize the operator of ``ref_call``: always True."""
        return True

    def __enter__(self) -> QConfig:
        QConfig._blocks.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        QConfig._blocks.pop()


def qconfig(**kwargs: Any) -> QConfig:
    """The options of ``quantize`` for a ``with`` block. An unsupported value is an UnsupportedError. An
    unknown option has no effect, as in TVM, but gives a warning.

    ``calibrate_mode`` is ``"kl_divergence"`` or ``"percentile"``, which need a dataset, or
    ``"global_scale"``. Unlike TVM, the last does not use one range for all activations: the ranges are
    computed in each run. The convolutions at the indices ``skip_conv_layers`` stay in float, and with
    ``skip_dense_layer`` all dense layers do. Weights have a scale for each channel, which need not be a power
    of two, whatever ``weight_scale`` is.
    """
    return QConfig(**kwargs)


def current_qconfig() -> QConfig:
    """The options of the innermost block, or the defaults."""
    return QConfig._blocks[-1] if QConfig._blocks else QConfig()


def quantize(mod: Any, params: Mapping[str, Any] | None = None, dataset: Iterable[Any] | None = None) -> Any:
    """Quantize ``mod``, with ``params`` as constants, to 8 bits by the current ``qconfig``. ``dataset`` is an
    iterable of inputs by name, for calibration. The result is a module of the same class as ``mod``."""
    options = current_qconfig()
    module = bound(mod, params)
    mode = options.calibrate_mode
    if mode != "global_scale" and dataset is None:
        raise InputError(
            f"quantize: calibrate_mode {mode!r} needs dataset=",
            hint="some typical inputs, as dicts of arrays",
        )
    operators = OPERATORS - {"nn.dense"} if options.skip_dense_layer else OPERATORS
    layers = _layers(module)
    skipped = _at([name for name, op in layers if op == "nn.conv2d"], options.skip_conv_layers)
    if not any(op in operators and name not in skipped for name, op in layers):
        warn("relay.quantize: every layer stays in float32, as skip_conv_layers and skip_dense_layer say")
        return _as_given(module, mod)
    settings: dict[str, Any] = {"mode": "static", "calibration": _MODES[mode]}
    if mode == "global_scale":
        warn(
            "relay.quantize: global_scale: one range for all activations is not used; each is computed in "
            "each run. calibrate_mode='kl_divergence' with a dataset fixes them"
        )
        settings = {"mode": "dynamic"}
    made = quantize_module(
        module,
        None if mode == "global_scale" else [_of_dtypes(run, module) for run in dataset or ()],
        operators=operators,
        keep_float=skipped,
        min_examples=1,
        measure=False,
        **settings,
    ).module
    return _as_given(made, mod)


def _as_given(made: Module, mod: Any) -> Any:
    """``made`` as a module of the class of ``mod``."""
    ours = isinstance(mod, Module) or not type(mod).__module__.startswith("tvmlite.tvm.")
    return made if ours else IRModule.from_expr(made.main)


def _of_dtypes(run: Any, module: Module) -> Any:
    """The inputs of one run, with floats converted to the parameters' dtypes, as ``set_input`` does, and
    without inputs that the model does not have."""
    if not isinstance(run, Mapping):
        return run
    dtypes = {param.name: getattr(param.type, "dtype", "") for param in module.main.params}
    made = {}
    for name, value in run.items():
        if name not in dtypes:
            known = ", ".join(dtypes)
            warn(f"quantize: dataset has {name!r}, which the model does not: its inputs are {known}")
            continue
        array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        floats = array.dtype.kind == "f" and dtypes.get(name) in ("float32", "float64")
        made[name] = array.astype(dtypes[name]) if floats else value
    return made


def _checked(name: str, value: Any) -> Any:
    if name == "skip_conv_layers":
        places = [] if value is None else value
        if not isinstance(places, Sequence) or not all(type(one) is int and one >= 0 for one in places):
            raise InputError(f"qconfig: skip_conv_layers is {value!r}, expected a list of places")
        return list(places)
    if name in _CHOICES and value not in _CHOICES[name]:
        expected = " or ".join(repr(one) for one in _CHOICES[name])
        raise UnsupportedError(f"qconfig: {name} is {value!r}, expected {expected}", Span.of_caller())
    return value


def _layers(module: Module) -> list[tuple[str, str]]:
    """The name and the operator of each layer that could be quantized, in order."""
    names = names_of(prepare(module).main.body)
    return [
        (name, str(node.op)) for node, name in names.items() if isinstance(node, Call) and is_product(node)
    ]


def _at(names: Sequence[str], places: Sequence[int]) -> list[str]:
    """The ``names`` at the indices ``places``; as in TVM, an index out of range is ignored."""
    return [name for place, name in enumerate(names) if place in places]


__getattr__ = refusing(__name__)
