"""Products with operands rounded to 16 bits: the modes "bfloat16" and "float16".

The module is not changed. It is compiled with that ``precision`` (``to_mixed_precision``) and with decisions
for the products that stay in float32. Products with equal operators and types are one decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.core.provided import provided
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.decisions import Decisions
from tvmlite.relay.passes.precision.to_mixed_precision import ALWAYS, rounded_operands, to_mixed_precision
from tvmlite.relay.passes.simplify.fold_constant import fold_constant
from tvmlite.relay.quantize.data import Run
from tvmlite.relay.quantize.layers import names_of
from tvmlite.relay.quantize.modes.options import Options, check_layer_names
from tvmlite.relay.quantize.modes.result import QuantizedModule
from tvmlite.relay.quantize.noise import WITHOUT_NOISE, Noise, noise_of, output_noise
from tvmlite.relay.quantize.prepare import check_finite
from tvmlite.relay.quantize.report.report import LayerRow, QuantizationReport, constant_bytes
from tvmlite.relay.quantize.run import Compile, Progress
from tvmlite.relay.quantize.select import below_floor
from tvmlite.relay.quantize.speed import FASTER_LAYERS, Measure, Plan, Speed, key_of, with_spans

FLOAT32 = "float32"


@dataclass
class Halves:
    """One call of ``quantize`` on the prepared module ``exact``."""

    exact: Module
    runs: Sequence[Run]
    options: Options
    compile: Compile
    progress: Progress

    @cached_property
    def spanned(self) -> Module:
        """``exact``, with a distinct span for each layer."""
        return with_spans(self.exact)

    @cached_property
    def layers_of_decision(self) -> dict[str, frozenset[str]]:
        """The layers that each decision about a product covers, by the decision's name."""
        table = Decisions()
        to_mixed_precision(self.options.mode, decisions=table)(self.spanned)
        return {name: frozenset(span.node for span in one.spans) for name, one in table.asked.items()}

    @cached_property
    def layers(self) -> dict[str, Call]:
        """The products that can have 16-bit operands, by name."""
        wanted = (
            frozenset().union(*self.layers_of_decision.values())
            if self.layers_of_decision
            else frozenset[str]()
        )
        names = names_of(self.exact.main.body)
        return {name: node for node, name in names.items() if name in wanted and isinstance(node, Call)}

    def run(self, given: Module) -> QuantizedModule:
        """The module, its compile options, and the report; ``given`` is the module before preparation."""
        options = self.options
        if not self.layers:
            raise InputError(
                f"quantize: the module has no layer that can be computed in {options.mode}",
                hint=f"products of float32 can: {', '.join(sorted(ALWAYS))}",
            )
        check_layer_names(options.keep_float, self.layers)
        for name, call in self.layers.items():
            check_finite(name, call, call.args)
        kept = dict.fromkeys(options.keep_float, "as asked")
        noise = self._noise()
        for name, one in noise.items():
            if one.snr == -WITHOUT_NOISE and name not in kept:
                kept[name] = f"what it computes is not finite in {options.mode}"
        if options.min_snr is not None:
            kept.update({k: v for k, v in below_floor(noise, options.min_snr).items() if k not in kept})
        for name in self._with_shared_decisions(frozenset(kept)) - kept.keys():
            kept[name] = "equal to a layer that stays in float32"
        speed = self._speed(kept)
        kept.update({name: why for name, why in speed.kept.items() if name not in kept})
        rounded = self._rounded(frozenset(kept))
        rows = tuple(self._row(name, call, kept, noise, speed) for name, call in self.layers.items())
        report = QuantizationReport(
            rows,
            {"mode": options.mode} | ({} if options.min_snr is None else {"min snr": f"{options.min_snr:g}"}),
            constant_bytes(self.exact),
            constant_bytes(fold_constant(rounded)),
            self._output_noise(rounded),
            latency=speed.latency,
            untimed=speed.not_measured,
            narrow=options.mode,
        )
        made = replace(self.exact, output_names=given.output_names, attrs=given.attrs)
        return QuantizedModule(made, report, speed.records, self._compile_options(frozenset(kept)))

    def _with_shared_decisions(self, names: frozenset[str]) -> frozenset[str]:
        """``names`` and the layers that share a decision with them."""
        return names.union(*(one for one in self.layers_of_decision.values() if not one.isdisjoint(names)))

    def _float_decisions(self, kept: frozenset[str]) -> dict[str, str]:
        """The decisions that keep ``kept`` in float32."""
        return {
            name: FLOAT32 for name, layers in self.layers_of_decision.items() if not layers.isdisjoint(kept)
        }

    def _compile_options(self, kept: frozenset[str]) -> dict[str, Any]:
        """The options for ``compile``: none if all layers are ``kept``."""
        if kept.issuperset(self.layers):
            return {}
        chosen = self._float_decisions(kept)
        return {"precision": self.options.mode} | ({"decisions": chosen} if chosen else {})

    def _rounded(self, kept: frozenset[str]) -> Module:
        """The module with casts that round the operands of all layers but ``kept``."""
        table = Decisions(self._float_decisions(kept))
        return to_mixed_precision(self.options.mode, decisions=table)(self.exact)

    def _noise(self) -> dict[str, Noise]:
        """The noise of each layer when only its own operands are rounded."""
        if not self.runs:
            return {}
        exact: dict[Expr, Expr] = {one: one for one in _expressions(self.exact)}
        return noise_of(
            self.exact,
            self.layers,
            exact,
            self._with_rounded_operands,
            self.runs,
            self.compile,
            self.progress,
        )

    def _with_rounded_operands(self, call: Call) -> Expr:
        narrow = rounded_operands(call)

        def rounded(value: Expr) -> Expr:
            if value not in narrow:
                return value
            short = make("cast", value, dtype=self.options.mode, span=call.span)
            return make("cast", short, dtype=FLOAT32, span=call.span)

        return call.map_children(rounded)

    def _output_noise(self, rounded: Module) -> float | None:
        if not self.runs:
            return None
        self.progress("noise of the outputs", 0, len(self.runs))
        return output_noise(self.compile(self.exact), self.compile(rounded), self.runs)

    def _speed(self, kept: Mapping[str, str]) -> Speed:
        """Measure which of the layers that are not ``kept`` are faster in float32."""
        options = self.options
        layers = tuple(name for name in self.layers if name not in kept)
        if options.measure is False or not layers:
            return Speed()

        def narrow(more: frozenset[str]) -> tuple[Module, Mapping[str, Any]]:
            return self.spanned, self._compile_options(more.union(kept))

        plan = Plan(
            self.spanned,
            layers,
            options.mode,
            key_of(self.exact, sorted(kept), sorted(options.compile_options.items())),
            narrow,
            next(iter(self.runs), None),
            decided_with={name: layers for layers in self.layers_of_decision.values() for name in layers},
        )
        find: Measure = provided(FASTER_LAYERS)
        return find(plan, options.records, options.compile_options, self.progress, options.measure is True)

    def _row(
        self, name: str, call: Call, kept: Mapping[str, str], noise: Mapping[str, Noise], speed: Speed
    ) -> LayerRow:
        time = speed.times.get(name)
        return LayerRow(
            name,
            str(call.op),
            FLOAT32 if name in kept else self.options.mode,
            kept.get(name, speed.remarks.get(name, "")),
            noise[name].snr if name in noise else None,
            weights=sum(one.size for one in call.args if isinstance(one, Constant)),
            float_seconds=None if time is None else time.exact,
            narrow_seconds=None if time is None else time.narrow,
        )


def _expressions(module: Module) -> Iterator[Expr]:
    return (one for one in postorder(module.main.body) if isinstance(one, Expr))
