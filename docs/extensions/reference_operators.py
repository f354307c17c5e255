"""The page of all operators, by family: the modules that they are registered in."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from typing import Any

from reference_text import first_sentence, heading, table

KINDS = {
    "Element by element": "elementwise binary activation fast fixed_point",
    "Making tensors": "create random",
    "Shapes, layouts, moving elements": "reshape shape slice rearrange pad layout like space_batch",
    "Reading and writing at indices": "index indexed scatter search data_dependent",
    "Reductions, orders, running totals": "reduce statistics losses sort scan",
    "Products": "matmul group_quantized determinant einsum sparse",
    "Convolutions and poolings": (
        "conv conv_transpose deformable deformable_conv col2im pool pool_indices pool_ranks pool_whole "
        "roi_align roi_pool"
    ),
    "Normalization and attention": "normalize batch_norm attention",
    "Images": "resize upsampling grid_sample suppression image detection multibox proposal",
    "Recurrent layers and trees": "recurrent trees",
    "Quantized tensors": (
        "quant quant_blocks qnn_elementwise qnn_products qnn_requantize qnn_simulated qnn_concatenate"
    ),
    "What passes leave in a graph": "annotation assume",
}
"""Headings, and the modules of ``relay/ops`` below each. Those of techniques have a heading of their own."""

TECHNIQUES = "Packed by the compiler"

MORE = "More"


def families() -> dict[str, dict[str, list[str]]]:
    """The operators by heading, and by the module that registers them."""
    from tvmlite.relay.ir import op

    headings = {module: title for title, modules in KINDS.items() for module in modules.split()}
    found: dict[str, dict[str, list[str]]] = {title: {} for title in (*KINDS, TECHNIQUES, MORE)}
    for name in sorted(op.names()):
        module = op.get(name).compute.__module__
        if module.startswith("tvmlite.techniques."):
            title = TECHNIQUES
        else:
            title = headings.get(module.rpartition(".")[2], MORE)
        found[title].setdefault(module, []).append(name)
    return {title: dict(sorted(modules.items())) for title, modules in found.items() if modules}


def signature(build: Any) -> str:
    """The signature of an operator's function; a default without a short text is shown as dots."""
    given = inspect.signature(build)
    parameters = [
        one.replace(default=_Dots()) if " object at 0x" in repr(one.default) else one
        for one in given.parameters.values()
    ]
    return str(given.replace(parameters=parameters))


class _Dots:
    def __repr__(self) -> str:
        return "..."


def operators_page() -> str:
    """Every operator: its inputs, its attributes with their defaults, and what it means."""
    from tvmlite.relay.ir import builders

    found = families()
    text = heading("Operators")
    text += (
        "Each is ``relay.NAME(...)`` in Python and ``NAME(...)`` in Relay text. Tensors come first, then "
        "attributes, which are fixed at compile time.\n\n"
    )
    rows = [
        (title, ", ".join(_link(name) for names in modules.values() for name in names))
        for title, modules in found.items()
    ]
    text += table(rows, ("", "operators"))
    labels: dict[str, int] = defaultdict(int)
    for title, modules in found.items():
        text += heading(title, "-")
        for module, names in modules.items():
            labels[module] += 1
            about = first_sentence(importlib.import_module(module).__doc__)
            text += (
                f"*{about.replace('*', '')}.* ``{module.removeprefix('tvmlite.').replace('.', '/')}.py``\n\n"
            )
            for name in names:
                build = builders.builder(name)
                text += f".. py:function:: relay.{name}{signature(build)}\n\n"
                doc = inspect.cleandoc(build.__doc__ or "")
                text += "".join(f"   {line}".rstrip() + "\n" for line in doc.splitlines()) + "\n"
    return text


def _link(name: str) -> str:
    return f":py:func:`{name} <relay.{name}>`"
