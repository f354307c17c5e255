"""Sums of products of bytes as C functions: in plain C99, and in ACLE's intrinsics (the Arm C Language
Extensions, IHI 0053) for processors with the DSP extension or with Helium.

The sums wrap, as those of int32 do, so all versions give the same bits.
"""

from __future__ import annotations

from tvmlite.te.codegen.c_functions import CFunction, Version, register

ROWS = "tl_dot_rows_i8"
"""``sums[r] = sum(data[k] * rows[r][k])`` for ``count`` r and ``terms`` k."""

WINDOWS = "tl_dot_windows_i8"
"""``sums[i] = sum(data[r * line + i * step + k] * window[r][k])`` for ``count`` windows of ``height`` by
``width``."""

_HAS_DSP = "defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)"
_HAS_MVE = "defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)"

_WORDS = """#if defined(__clang__)
#define TL_ODD(pair, word) ((pair) = __sxtb16((int32_t)((uint32_t)(word) >> 8)))
#else
#define TL_ODD(pair, word) \\
    __asm__ volatile("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word) : "memory")
#endif
#define TL_WORD(word, place) __builtin_memcpy(&(word), place, 4)
"""
"""Bytes 1 and 3 of a word as two 16-bit numbers, in one instruction; GCC compiles the intrinsic to two.
It is volatile, so that GCC does not load further words in advance: there are registers for two.
Words need no alignment: these processors support unaligned loads."""


def _rows_by_words() -> str:
    """The body for the DSP extension: a word of data, as two pairs of 16 bits, is used for four rows."""
    places = ("a", "a + terms", "b", "b + terms")
    steps = "".join(
        f"""
            TL_WORD(word, {place});
            TL_ODD(upper, word);
            {total} = __smlad(even, __sxtb16(word), {total});
            {total} = __smlad(odd, upper, {total});"""
        for place, total in zip(places, "stuv", strict=True)
    )
    rest = "\n".join(
        f"            {total} = __smlabb(*x, *({place}), {total});"
        for place, total in zip(places, "stuv", strict=True)
    )
    stores = "\n".join(f"        sums[row + {n}] = {total};" for n, total in enumerate("stuv"))
    return f"""    const int8_t *const whole = data + (terms & ~3), *const end = data + terms;
    int32_t row = 0;
    for (; row + 4 <= count; row += 4) {{
        const int8_t *x = data, *a = rows + row * terms, *b = a + 2 * terms;
        int32_t s = 0, t = 0, u = 0, v = 0;
        for (; x < whole; x += 4, a += 4, b += 4) {{
            int32_t word, even, odd, upper;
            TL_WORD(word, x);
            even = __sxtb16(word);
            TL_ODD(odd, word);{steps}
        }}
        for (; x < end; ++x, ++a, ++b) {{
{rest}
        }}
{stores}
    }}
    for (; row < count; ++row) {{
        const int8_t *x = data, *a = rows + row * terms;
        int32_t s = 0;
        for (; x < whole; x += 4, a += 4) {{
            int32_t word, odd, upper, other;
            TL_WORD(word, x);
            TL_WORD(other, a);
            TL_ODD(odd, word);
            TL_ODD(upper, other);
            s = __smlad(__sxtb16(word), __sxtb16(other), s);
            s = __smlad(odd, upper, s);
        }}
        for (; x < end; ++x, ++a) {{
            s = __smlabb(*x, *a, s);
        }}
        sums[row] = s;
    }}
"""


def _rows_by_vectors() -> str:
    """The body for Helium: four rows at a time, 16 products per instruction; lanes past the end are off."""
    steps = "".join(
        f"\n            {total} = vmladavaq_p_s8({total}, x, vldrbq_z_s8(a + {n} * terms + k, on), on);"
        for n, total in enumerate("stuv")
    )
    stores = "\n".join(f"        sums[row + {n}] = {total};" for n, total in enumerate("stuv"))
    return f"""    int32_t row = 0;
    for (; row + 4 <= count; row += 4) {{
        const int8_t *a = rows + row * terms;
        int32_t s = 0, t = 0, u = 0, v = 0;
        for (int32_t k = 0; k < terms; k += 16) {{
            const mve_pred16_t on = vctp8q((uint32_t)(terms - k));
            const int8x16_t x = vldrbq_z_s8(data + k, on);{steps}
        }}
{stores}
    }}
    for (; row < count; ++row) {{
        const int8_t *a = rows + row * terms;
        int32_t s = 0;
        for (int32_t k = 0; k < terms; k += 16) {{
            const mve_pred16_t on = vctp8q((uint32_t)(terms - k));
            s = vmladavaq_p_s8(s, vldrbq_z_s8(data + k, on), vldrbq_z_s8(a + k, on), on);
        }}
        sums[row] = s;
    }}
"""


_ROWS_PLAIN = """    int32_t row = 0;
    for (; row + 4 <= count; row += 4) {
        const int8_t *const a = rows + row * terms, *const b = a + terms;
        const int8_t *const c = b + terms, *const d = c + terms;
        uint32_t s = 0, t = 0, u = 0, v = 0;
        for (int32_t k = 0; k < terms; ++k) {
            s += (uint32_t)(data[k] * a[k]);
            t += (uint32_t)(data[k] * b[k]);
            u += (uint32_t)(data[k] * c[k]);
            v += (uint32_t)(data[k] * d[k]);
        }
        sums[row] = (int32_t)s;
        sums[row + 1] = (int32_t)t;
        sums[row + 2] = (int32_t)u;
        sums[row + 3] = (int32_t)v;
    }
    for (; row < count; ++row) {
        const int8_t *const weights = rows + row * terms;
        uint32_t sum = 0;
        for (int32_t k = 0; k < terms; ++k) {
            sum += (uint32_t)(data[k] * weights[k]);
        }
        sums[row] = (int32_t)sum;
    }
"""

_WINDOWS_PLAIN = """    for (int32_t i = 0; i < count; ++i) {
        uint32_t sum = 0;
        for (int32_t row = 0; row < height; ++row) {
            const int8_t *const x = data + row * line + i * step, *const weights = window + row * width;
            for (int32_t k = 0; k < width; ++k) {
                sum += (uint32_t)(x[k] * weights[k]);
            }
        }
        sums[i] = (int32_t)sum;
    }
"""

_WINDOWS_BY_WORDS = """    for (int32_t i = 0; i < count; ++i) {
        sums[i] = 0;
    }
    for (int32_t row = 0; row < height; ++row) {
        const int8_t *const x = data + row * line, *const weights = window + row * width;
        int32_t k = 0;
        /* Of four bytes, three products for each of two neighbours. */
        for (; step == 1 && k + 3 <= width; k += 3) {
            const int32_t middle = weights[k + 1], before = (int32_t)((uint32_t)middle << 16);
            const int32_t outer = (int32_t)((uint16_t)weights[k] | (uint32_t)weights[k + 2] << 16);
            const int32_t behind = (uint16_t)middle;
            int32_t i = 0;
            for (; i + 2 <= count; i += 2) {
                int32_t word, even, odd;
                TL_WORD(word, x + i + k);
                even = __sxtb16(word);
                TL_ODD(odd, word);
                sums[i] = __smlad(odd, behind, __smlad(even, outer, sums[i]));
                sums[i + 1] = __smlad(even, before, __smlad(odd, outer, sums[i + 1]));
            }
            if (i < count) {
                for (int32_t j = k; j < k + 3; ++j) {
                    sums[i] = __smlabb(x[i + j], weights[j], sums[i]);
                }
            }
        }
        for (; k < width; ++k) {
            for (int32_t i = 0; i < count; ++i) {
                sums[i] = __smlabb(x[i * step + k], weights[k], sums[i]);
            }
        }
    }
"""

_WINDOWS_BY_VECTORS = """    const uint32x4_t apart = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)step);
    for (int32_t i = 0; i < count; i += 4) {
        const mve_pred16_t on = vctp32q((uint32_t)(count - i));
        int32x4_t sum = vdupq_n_s32(0);
        for (int32_t row = 0; row < height; ++row) {
            const int8_t *const x = data + row * line + i * step, *const weights = window + row * width;
            for (int32_t k = 0; k < width; ++k) {
                sum = vmlaq_n_s32(sum, vldrbq_gather_offset_z_s32(x + k, apart, on), weights[k]);
            }
        }
        vstrwq_p_s32(sums + i, sum, on);
    }
"""

register(
    CFunction(
        ROWS,
        "int32_t *restrict sums, const int8_t *restrict data, const int8_t *restrict rows, int32_t count, "
        "int32_t terms",
        _ROWS_PLAIN,
        (
            Version("mve", _HAS_MVE, "arm_mve.h", _rows_by_vectors()),
            Version("dsp", _HAS_DSP, "arm_acle.h", _rows_by_words(), _WORDS),
        ),
    )
)
register(
    CFunction(
        WINDOWS,
        "int32_t *restrict sums, const int8_t *restrict data, const int8_t *restrict window, int32_t count, "
        "int32_t step, int32_t line, int32_t height, int32_t width",
        _WINDOWS_PLAIN,
        (
            Version("mve", _HAS_MVE, "arm_mve.h", _WINDOWS_BY_VECTORS),
            Version("dsp", _HAS_DSP, "arm_acle.h", _WINDOWS_BY_WORDS, _WORDS),
        ),
    )
)
