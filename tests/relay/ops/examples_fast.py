"""Examples of fast functions, far from and near zero, within their stated errors."""

import numpy as np

WIDE = np.linspace(-100, 100, 401, dtype=np.float32)
NEAR = np.linspace(-7, 7, 2001, dtype=np.float32)

EXAMPLES = [
    ("fast_exp", {}, [NEAR]),
    ("fast_exp", {}, [WIDE]),
    *((name, {}, [data], {"tolerance": 4e-5}) for name in ("fast_tanh", "fast_erf") for data in (NEAR, WIDE)),
]
