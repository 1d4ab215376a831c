"""The square-root factorisation of prefix sums: the lower triangular matrix of ones is a decoder
times an encoder, both Toeplitz, so that a first column says all. Public numbers only.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["decoder_column", "encoder_column"]


@lru_cache(maxsize=32)
def encoder_column(length: int, *, one: int, digits: int) -> tuple[int, ...]:
    """The first column of the encoder in steps of 1/`one`, rounded: integers that never grow.

    The coefficients of (1 - x)^(-1/2), which are f_0 = 1 and f_k = f_{k-1} (2k - 1)/(2k)
    [FHU23, Thm. 1]; the recurrence keeps `digits` binary digits more and rounds down.
    >>> encoder_column(4, one=16, digits=40)
    (16, 8, 6, 5)
    """
    column = []
    scaled = one << digits
    for place in range(1, length + 1):
        column.append((scaled + (1 << (digits - 1))) >> digits)
        scaled = scaled * (2 * place - 1) // (2 * place)
    return tuple(column)


@lru_cache(maxsize=32)
def decoder_column(length: int, *, one: int, digits: int) -> NDArray[np.float64]:
    """The first column of prefix sums times the inverse of the rounded encoder, as a matrix of
    reals with 1 on its diagonal.

    >>> decoder_column(4, one=16, digits=40).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    """
    column = np.array(encoder_column(length, one=one, digits=digits), dtype=np.float64) / one
    # The inverse of a lower triangular Toeplitz matrix is one, by the series 1/f.
    inverse = np.zeros(length)
    inverse[0] = 1.0
    for place in range(1, length):
        inverse[place] = -(column[1 : place + 1] @ inverse[place - 1 :: -1][:place])
    decoder: NDArray[np.float64] = np.cumsum(inverse)
    decoder.setflags(write=False)
    return decoder
