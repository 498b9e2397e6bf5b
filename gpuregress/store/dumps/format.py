"""Arrays to lines of text, by polars: the fewest digits that read back to the same bits."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.dtypes import CANONICAL_NAN, ElementType, Scalar
from gpuregress.foundation.numeric import decimals

if TYPE_CHECKING:
    import polars as pl

MOST_WITHOUT_POLARS = 1 << 13
"""Numbers up to which `decimals` takes less time than loading polars."""


def lines(array: npt.NDArray[np.generic], element_type: ElementType) -> bytes | memoryview:
    """Format elements: one a line, its parts separated by a space.

    Args:
        array: one dimension, dtype `element_type.storage`.
        element_type: of the elements.
    """
    columns = zip(element_type.parts, element_type.columns(array), strict=True)
    if "polars" not in sys.modules and array.size * len(element_type.parts) <= MOST_WITHOUT_POLARS:
        words = [decimals.words(column, part.scalar, nan_bits=True) for part, column in columns]
        return "".join(f"{' '.join(row)}\n" for row in zip(*words, strict=True)).encode("ascii")
    import polars as pl  # noqa: PLC0415 - costs a tenth of a second, needed only where something is written

    frame = pl.DataFrame([_series(column, part.scalar).alias(str(k)) for k, (part, column) in enumerate(columns)])
    text = io.BytesIO()
    frame.write_csv(text, include_header=False, separator=" ", quote_style="never", null_value="nan")
    return text.getbuffer()


def _series(column: npt.NDArray[np.generic], scalar: Scalar) -> pl.Series:
    import polars as pl  # noqa: PLC0415 - see lines

    column = np.ascontiguousarray(column)
    if scalar.kind == "bool":
        return pl.Series(column.view(np.uint8))  # a byte that is neither 0 nor 1 prints as its number
    if not scalar.is_float:
        return pl.Series(column)
    bits = column.view(f"<u{scalar.size}")
    numbers = decimals.shortest(bits, scalar) if scalar.size == 2 else column
    nans = np.flatnonzero(np.isnan(numbers))
    if nans.size == 0:
        return pl.Series(numbers)
    if (bits[nans] == CANONICAL_NAN[scalar.name]).all():
        return pl.Series(numbers, nan_to_null=True)  # which lines() writes as `nan`
    patterns, inverse = np.unique(bits[nans], return_inverse=True)
    words = pl.Series([decimals.nan_word(int(pattern), scalar) for pattern in patterns])
    return pl.Series(numbers).cast(pl.String).scatter(nans, words.gather(inverse))
