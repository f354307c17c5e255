"""The layout of weights of few bits: words of 32 bits, each with codes of one column, columns innermost.

A word holds consecutive codes of one column: four of 8 bits, one per byte, or eight of 4 bits. In the latter,
byte i holds code i in its lower half and code 4 + i in its upper half, so that masking a word, or shifting
and masking it, gives four consecutive codes as bytes.
"""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ops.quantized.group_quantized import codes_of

WORD = 32
"""The number of bits of a word."""


def code_positions(bits: int) -> tuple[int, ...]:
    """The position of the code in each field of ``bits`` bits of a word, from the lowest field on."""
    return (0, 4, 1, 5, 2, 6, 3, 7) if bits == 4 else (0, 1, 2, 3)


def words_shape(count: int, depth: int, bits: int, group: int, columns: int) -> tuple[int, int, int]:
    """The shape of the words of a weight of ``count`` rows by ``depth`` terms, with the last group padded."""
    return -(-count // columns), -(-depth // group) * group * bits // WORD, columns


def pack_words(out: np.ndarray, weight: np.ndarray, bits: int) -> None:
    """Write the bytes ``weight (n, groups, group * bits / 8)`` as words ``(panels, words, columns)`` to
    ``out``, panel by panel. Columns past the last have codes 0."""
    panels, words, columns = out.shape
    for panel in range(panels):
        rows = weight[panel * columns : (panel + 1) * columns]
        codes = codes_of(rows, bits, words * WORD // bits).reshape(len(rows), words, -1)
        packed = codes if bits == 8 else codes[..., :4] | codes[..., 4:] << 4
        out[panel, :, : len(rows)] = np.ascontiguousarray(packed).view("<u4")[..., 0].T
        out[panel, :, len(rows) :] = 0


def unpacked_codes(words: np.ndarray, bits: int) -> np.ndarray:
    """The codes ``(panels * columns, k)``, uint8, of ``words``."""
    panels, count, columns = words.shape
    codes = np.empty((panels, columns, count, WORD // bits), np.uint8)
    for field, position in enumerate(code_positions(bits)):
        codes[..., position] = (words >> np.uint32(field * bits) & np.uint32(2**bits - 1)).swapaxes(1, 2)
    return codes.reshape(panels * columns, -1)


def pack_groups(out: np.ndarray, values: np.ndarray) -> None:
    """Write ``values (n, groups)`` to ``out (panels, groups, columns)``; 0 for columns past the last."""
    panels, groups, columns = out.shape
    whole = np.zeros((panels * columns, groups), out.dtype)
    whole[: len(values)] = values
    out[...] = whole.reshape(panels, columns, groups).swapaxes(1, 2)


def unpacked_groups(values: np.ndarray) -> np.ndarray:
    """The inverse of ``pack_groups``, with the columns past the last."""
    return values.swapaxes(1, 2).reshape(-1, values.shape[1])
