"""The tensor formats of test models, and how matrices get into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter
from gguf import quants as gguf_quants
from numpy.typing import NDArray

# Format name and float32 [rows, cols] -> the rows of the file, uint8 [rows, row_bytes].
Quantize = Callable[[str, NDArray[np.float32]], NDArray[np.uint8]]

# Every format the engine reads, with its general.file_type.
FORMATS = {
    "F32": 0,
    "F16": 1,
    "BF16": 32,
    "Q4_0": 2,
    "Q4_1": 3,
    "Q5_0": 8,
    "Q5_1": 9,
    "Q8_0": 7,
    "Q2_K": 10,
    "Q3_K": 12,
    "Q4_K": 15,
    "Q5_K": 17,
    "Q6_K": 18,
    "IQ4_NL": 25,
    "IQ4_XS": 30,
    "MXFP4": 38,
}


def quantize(dtype: str, values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Rows in a format: by the ``gguf`` package where it can, else by bactrian's own quantiser.

    Raises ValueError for an unknown format, or for rows that are no whole number of blocks.
    """
    if dtype not in FORMATS:
        raise ValueError(f"format {dtype!r} is not one of {', '.join(FORMATS)}")
    block = GGML_QUANT_SIZES[GGMLQuantizationType[dtype]][0]
    if values.shape[-1] % block:
        raise ValueError(f"rows of {values.shape[-1]} are no whole number of {dtype} blocks")
    try:
        rows: NDArray[Any] = gguf_quants.quantize(values, GGMLQuantizationType[dtype])
    except NotImplementedError:
        from bactrian import _core

        rows = _core.quantize(dtype, np.ascontiguousarray(values))
    return np.ascontiguousarray(rows).view(np.uint8)


def add_matrix(
    writer: GGUFWriter, name: str, values: NDArray[np.float32], dtype: str, quantize: Quantize
) -> None:
    """Adds a matrix [rows, cols] to a file in a format."""
    raw = quantize(dtype, values)
    writer.add_tensor(name, raw, raw_dtype=GGMLQuantizationType[dtype])
