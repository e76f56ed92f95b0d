"""Small GGUF files written by the field's own ``gguf`` package, for the tests of the reader."""

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest

from bactrian._core import GgufFile
from bactrian.errors import FileFormatError, UnsupportedError


def write(path: Path, build: Callable[[gguf.GGUFWriter], None], arch: str = "llama") -> Path:
    writer = gguf.GGUFWriter(path, arch)
    build(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def small_model(writer: gguf.GGUFWriter, name: str = "Camel") -> None:
    writer.add_name(name)
    writer.add_context_length(128)
    writer.add_token_list(["<s>", "a", "骆驼", "\x00"])
    writer.add_token_scores([0.0, -1.5, 2.5, 3.0])
    writer.add_token_types([3, 1, 1, 6])
    writer.add_bool("a.flag", True)
    writer.add_array("a.flags", [True, False])
    writer.add_float64("a.double", 0.1)
    writer.add_int64("a.negative", -5)
    rng = np.random.default_rng(0)
    writer.add_tensor("token_embd.weight", rng.standard_normal((4, 64)).astype(np.float32))
    writer.add_tensor("half.weight", rng.standard_normal((2, 3, 32)).astype(np.float16))
    values = rng.standard_normal((5, 256)).astype(np.float32)
    for format_name in ("Q4_0", "Q8_0", "BF16"):
        kind = gguf.GGMLQuantizationType[format_name]
        writer.add_tensor(format_name, gguf.quantize(values, kind), raw_dtype=kind)


def split_parts(folder: Path, name: str = "Camel") -> list[Path]:
    """A model in three files, split by the gguf package."""
    writer = gguf.GGUFWriter(folder / f"{name}.gguf", "llama", split_max_tensors=2)
    small_model(writer, name)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(folder.glob(f"{name}-0000*-of-00003.gguf"))


def message(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def refused(path: Path, *kinds: type[BaseException]) -> str:
    """The message with which the file is refused; the same on a second try."""
    with pytest.raises(kinds or (FileFormatError, UnsupportedError)) as first:
        GgufFile(str(path))
    with pytest.raises(type(first.value)) as second:
        GgufFile(str(path))
    assert message(first) == message(second)
    assert path.name in message(first)
    return message(first)
