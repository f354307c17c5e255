"""The coefficients of the float32 functions: minimax polynomials, lowest power first, and split constants.

The polynomials were fitted with relative weights (Lawson's iteration, 40 digits) on the stated intervals;
the stated error is that of the exact polynomial, relative to the function. A constant is split as
``high + low`` so that ``high`` times a small integer is exact in float32.
"""

EXP = (
    0.49999998125299794,
    0.16666542349980112,
    0.04166720539982671,
    0.008366691703056654,
    0.0013882486403393106,
)
"""``(exp(r) - 1 - r) / r**2`` for ``|r| <= 0.3475``; ``r + r**2 * EXP(r)`` is expm1 to 1.4e-8."""

LOG = (
    0.33333215677024114,
    -0.2499979716400002,
    0.20010426538703727,
    -0.16680513477112094,
    0.14005490357480252,
    -0.12183854016629354,
    0.13986479744837393,
    -0.1289365236579363,
)
"""``(log(1 + f) - f + f**2 / 2) / f**3`` for ``2/3 <= 1 + f <= 4/3``: the logarithm to 4.7e-9."""

ERF = (
    0.12837916657980397,
    -0.3761263318838668,
    0.11283687188168313,
    -0.026858941482388814,
    0.005199906606950447,
    -0.0008130012010434385,
    8.31677261801306e-05,
)
"""``erf(x) / x - 1`` in ``x**2``, for ``|x| <= 0.93``, to 4.6e-10."""

LOG_ERFC = (
    -0.00019566653186853245,
    -1.1276756663837868,
    -0.6371821753082078,
    -0.1039316644419357,
    0.022226955189454885,
    -0.0030432267558466015,
    0.00019593826014161446,
)
"""``log(1 - erf(x))`` for ``0.92 <= x <= 4``: erf to 1.6e-9."""

ERF_SPLIT = 0.92
"""ERF is used below this magnitude, LOG_ERFC above it."""

ERF_ONE = 4.0
"""The magnitude from which on erf is 1 in float32."""

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440054690581e-4
LOG2_E_HIGH, LOG2_E_LOW = 1.0, 0.4426950408889634
LOG10_E_HIGH, LOG10_E_LOW = 0.43359375, 7.00731903251827651e-4
LOG10_2_HIGH, LOG10_2_LOW = 0.30078125, 2.48745663981195214e-4
