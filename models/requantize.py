"""Writes a GGUF file again with its matrices in another format.

    python models/requantize.py models/tiny-camel.gguf camel-q4_k.gguf Q4_K

Every matrix is dequantised and rounded anew; vectors and metadata stay as they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter
from gguf import quants as gguf_quants

from formats import FORMATS, Quantize, add_matrix, quantize


def requantize(
    source: str | Path, target: str | Path, dtype: str, *, quantize: Quantize = quantize
) -> Path:
    """Copies ``source`` to ``target`` with every matrix in ``dtype``, and returns ``target``.

    Raises ValueError if the rows of a matrix are no whole number of blocks of the format.
    """
    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key in ("general.architecture", "general.file_type"):
            continue
        sub_type = field.types[1] if field.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(key, field.contents(), field.types[0], sub_type)
    writer.add_file_type(FORMATS[dtype])
    for tensor in reader.tensors:
        values = np.array(gguf_quants.dequantize(tensor.data, tensor.tensor_type))
        if values.ndim == 1:
            writer.add_tensor(tensor.name, values)
        else:
            add_matrix(writer, tensor.name, values, dtype, quantize)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return Path(target)


def main() -> None:
    """Converts one file from the command line."""
    parser = argparse.ArgumentParser(description="Store the matrices of a model in a format.")
    parser.add_argument("source", type=Path, help="a GGUF file that is not split")
    parser.add_argument("target", type=Path, help="the GGUF file to write")
    parser.add_argument("dtype", choices=FORMATS)
    args = parser.parse_args()
    requantize(args.source, args.target, args.dtype)


if __name__ == "__main__":
    main()
