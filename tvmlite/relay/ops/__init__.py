"""The operators, one folder per family. Importing this package registers them in ``relay.ir.op``."""

from importlib import import_module
from pkgutil import walk_packages

FAMILIES = (
    "elementwise",
    "shapes",
    "indexing",
    "reductions",
    "products",
    "convolutions",
    "images",
    "recurrent",
    "quantized",
)
"""The folders of the families, in the order in which the reference lists them."""

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
