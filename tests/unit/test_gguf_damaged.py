"""GGUF files that are damaged or hostile: refused at once, with one line that names the place."""

import struct
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest

from bactrian._core import GgufFile
from bactrian.errors import FileFormatError, UnsupportedError
from gguf_files import refused, small_model, write


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "model.gguf", small_model)


def section_borders(path: Path) -> list[int]:
    """Offsets at which a part of the file ends: header fields, keys, tensor entries, data."""
    reader = gguf.GGUFReader(path)
    borders = {0, 4, 8, 16, 24, reader.data_offset}
    for field in (*reader.fields.values(), *(t.field for t in reader.tensors)):
        end = field.offset
        for part in field.parts:
            end += part.nbytes
            borders.add(end)
    for tensor in reader.tensors:
        borders |= {tensor.data_offset, tensor.data_offset + tensor.n_bytes}
    return sorted(borders)


def test_truncated_anywhere(model: Path, tmp_path: Path) -> None:
    whole = model.read_bytes()
    reader = gguf.GGUFReader(model)
    end = max(t.data_offset + t.n_bytes for t in reader.tensors)
    cuts = {len(whole) * percent // 100 for percent in range(100)}
    cuts |= {max(0, b + d) for b in section_borders(model) for d in (-1, 0, 1)}
    path = tmp_path / "cut.gguf"
    for cut in sorted(cuts):
        if cut >= end:
            continue  # only padding is lost
        path.write_bytes(whole[:cut])
        text = refused(path, FileFormatError)
        assert any(word in text for word in ("truncated", "is empty", "is not a GGUF file")), (
            f"cut at {cut}: {text}"
        )


def test_tail_padding_may_be_lost(model: Path) -> None:
    reader = gguf.GGUFReader(model)
    end = max(t.data_offset + t.n_bytes for t in reader.tensors)
    model.write_bytes(model.read_bytes()[:end])
    assert len(GgufFile(str(model)).tensors) == 5


def test_random_bytes_and_text(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(np.random.default_rng(1).bytes(64))
    assert "is not a GGUF file" in refused(path)
    path.write_text("Once upon a time\n")
    assert "is not a GGUF file" in refused(path)


def test_big_endian_file(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama", endianess=gguf.GGUFEndian.BIG)
    small = np.zeros((2, 32), np.float32)
    writer.add_tensor("t", small)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert "is a big-endian GGUF file" in refused(path, UnsupportedError)


def patched(model: Path, offset: int, fmt: str, value: int) -> Path:
    data = bytearray(model.read_bytes())
    struct.pack_into("<" + fmt, data, offset, value)
    model.write_bytes(data)
    return model


@pytest.mark.parametrize("version", [0, 1, 4, 99])
def test_other_versions(model: Path, version: int) -> None:
    assert f"version {version}" in refused(patched(model, 4, "I", version), UnsupportedError)


@pytest.mark.parametrize("offset", [8, 16])
@pytest.mark.parametrize("count", [10**6, 2**60, 2**63, 2**64 - 1])
def test_huge_counts(model: Path, offset: int, count: int) -> None:
    assert f"counts {count} " in refused(patched(model, offset, "Q", count), FileFormatError)


def test_huge_string(model: Path) -> None:
    assert "key number 1 of " in refused(patched(model, 24, "Q", 2**63), FileFormatError)


def entry_field(model: Path, tensor: int, part: int) -> int:
    """Offset of a field of a tensor's entry: 2 n_dims, 3 dims, 4 type, 5 offset."""
    field = gguf.GGUFReader(model).tensors[tensor].field
    return int(field.offset + sum(p.nbytes for p in field.parts[:part]))


@pytest.mark.parametrize("dim", [0, 2**42 + 1, 2**63, 2**64 - 1])
def test_hostile_dimensions(model: Path, dim: int) -> None:
    refusal = refused(patched(model, entry_field(model, 0, 3), "Q", dim), FileFormatError)
    assert "tensor token_embd.weight" in refusal


@pytest.mark.parametrize("n_dims", [0, 5, 2**32 - 1])
def test_hostile_number_of_dimensions(model: Path, n_dims: int) -> None:
    refusal = refused(patched(model, entry_field(model, 0, 2), "I", n_dims), FileFormatError)
    assert f"tensor token_embd.weight has {n_dims} dimensions" in refusal


@pytest.mark.parametrize("offset", [1, 2**20, 2**64 - 32, 2**63])
def test_hostile_offsets(model: Path, offset: int) -> None:
    refusal = refused(patched(model, entry_field(model, 0, 5), "Q", offset), FileFormatError)
    assert "tensor token_embd.weight" in refusal
    assert f"at offset {offset}" in refusal


@pytest.mark.parametrize(
    ("type_id", "name"),
    [(4, "Q4_2 (4)"), (16, "IQ2_XXS (16)"), (31, "Q4_0_4_4 (31)"), (200, "200")],
)
def test_unsupported_types(model: Path, type_id: int, name: str) -> None:
    refusal = refused(patched(model, entry_field(model, 0, 4), "I", type_id), UnsupportedError)
    assert f"tensor token_embd.weight has type {name}" in refusal
    assert "supported: F32, F16, BF16, Q4_0" in refusal


def test_duplicate_tensor(model: Path) -> None:
    model.write_bytes(model.read_bytes().replace(b"Q8_0", b"Q4_0"))
    assert "tensor Q4_0 appears more than once" in refused(model, FileFormatError)


def test_duplicate_key(tmp_path: Path) -> None:
    def similar_keys(writer: gguf.GGUFWriter) -> None:
        writer.add_bool("key.a", True)
        writer.add_uint8("key.b", 1)

    path = write(tmp_path / "m.gguf", similar_keys)
    path.write_bytes(path.read_bytes().replace(b"key.b", b"key.a"))
    assert "key key.a appears more than once" in refused(path, FileFormatError)


def test_memory_stays_bounded(tmp_path: Path) -> None:
    """Refusing takes less than twice the file and 64 MB, in a process of its own."""
    path = tmp_path / "m.gguf"
    strings = 10_000_000
    body = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    body += struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8, strings)
    path.write_bytes(body + bytes(8 * strings))
    code = (
        "import resource, sys\n"
        "from bactrian._core import GgufFile\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    GgufFile(sys.argv[1])\n"
        "except ValueError as error:\n"
        "    assert 'sensibly hold' in str(error), error\n"
        "else:\n"
        "    sys.exit('accepted')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) * 1024 < 2 * path.stat().st_size + (64 << 20)
