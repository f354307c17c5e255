"""Examples of dimensions taken to be equal."""

from tvmlite.relay.types import dim

n, h = dim("n"), dim("h")

EXAMPLES = [
    ("assume_shape", {"newshape": (n, 3)}, ["float32(h, 3)"]),
    ("assume_shape", {"newshape": (2, n * 2, 5)}, ["int64(2, h, 5)"], {"dims": {"n": 2, "h": 4}}),
    ("assume_shape", {"newshape": (7,)}, ["bool(n)"], {"dims": {"n": 7}}),
    ("assume_shape", {"newshape": ()}, ["float16()"]),
]
