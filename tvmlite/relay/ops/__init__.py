"""The operators, a folder a family: importing this package fills the table in ``relay.ir.op``."""

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
"""The folders, in the order in which the reference has them."""

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
