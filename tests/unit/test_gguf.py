"""The GGUF reader as Python sees it, on files written by the field's own ``gguf`` package."""

import os
import resource
from pathlib import Path

import gguf
import numpy as np
import pytest

from bactrian._core import GgufFile
from bactrian.errors import FileFormatError, InvalidArgumentError
from gguf_files import message, refused, small_model, split_parts, write

VOCAB = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "vocab"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "model.gguf", small_model)


def test_agrees_with_the_gguf_package(model: Path) -> None:
    file = GgufFile(str(model))
    reader = gguf.GGUFReader(model)
    assert file.path == str(model)
    assert file.paths == [str(model)]
    assert file.version == 3
    metadata = file.metadata
    fields = {name: f for name, f in reader.fields.items() if not name.startswith("GGUF.")}
    assert list(metadata) == list(fields)
    for name, field in fields.items():
        value = metadata[name]
        assert (value.tolist() if isinstance(value, np.ndarray) else value) == field.contents()
    assert [(t.name, t.dtype, t.shape, t.n_bytes) for t in file.tensors] == [
        (t.name, t.tensor_type.name, tuple(t.shape.tolist()[::-1]), t.n_bytes)
        for t in reader.tensors
    ]


def test_kinds_of_metadata(model: Path) -> None:
    metadata = GgufFile(str(model)).metadata
    assert metadata["tokenizer.ggml.tokens"] == ["<s>", "a", "骆驼", "\x00"]
    scores = metadata["tokenizer.ggml.scores"]
    types = metadata["tokenizer.ggml.token_type"]
    flags = metadata["a.flags"]
    assert isinstance(scores, np.ndarray) and scores.dtype == np.float64
    assert isinstance(types, np.ndarray) and types.dtype == np.int64
    assert isinstance(flags, np.ndarray) and flags.dtype == np.bool_
    assert metadata["a.flag"] is True
    assert metadata["a.double"] == 0.1
    assert metadata["a.negative"] == -5


def test_metadata_is_a_copy(model: Path) -> None:
    file = GgufFile(str(model))
    file.metadata.clear()
    scores = file.metadata["tokenizer.ggml.scores"]
    assert isinstance(scores, np.ndarray)
    scores[:] = 0
    again = file.metadata["tokenizer.ggml.scores"]
    assert isinstance(again, np.ndarray)
    assert again.tolist() == [0.0, -1.5, 2.5, 3.0]


def test_tensors_outlive_their_file(model: Path) -> None:
    tensors = GgufFile(str(model)).tensors
    assert tensors[0].name == "token_embd.weight"
    assert tensors[1].shape == (2, 3, 32)


def test_text_that_is_not_utf8_survives(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", lambda w: w.add_string("key", "xyz"))
    path.write_bytes(path.read_bytes().replace(b"xyz", b"x\xff\xfe"))
    value = GgufFile(str(path)).metadata["key"]
    assert isinstance(value, str)
    assert value.encode("utf-8", "surrogateescape") == b"x\xff\xfe"


@pytest.mark.parametrize(
    "name", ["with space.gguf", "quo'te\".gguf", "骆驼.gguf", os.fsdecode(b"raw\xff.gguf")]
)
def test_any_file_name(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "m.gguf", small_model).rename(tmp_path / name)
    assert GgufFile(str(path)).path == str(path)
    path.write_bytes(b"GGUF")
    with pytest.raises(FileFormatError, match="runs past the end"):
        GgufFile(str(path))


def test_symbolic_link(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "blob"
    link.symlink_to(model)
    assert len(GgufFile(str(link)).tensors) == 5


def test_big_alignment(tmp_path: Path) -> None:
    def aligned(writer: gguf.GGUFWriter) -> None:
        writer.add_custom_alignment(4096)
        small_model(writer)

    assert len(GgufFile(str(write(tmp_path / "m.gguf", aligned))).tensors) == 5


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.gguf", FileNotFoundError)
    assert "is a directory" in refused(tmp_path, FileFormatError)
    with pytest.raises(ValueError, match="null"):
        GgufFile("a\0b")
    with pytest.raises(TypeError):
        GgufFile(3)  # type: ignore[arg-type]


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    return split_parts(tmp_path)


def test_split_model_equals_the_whole(parts: list[Path], model: Path) -> None:
    file = GgufFile(str(parts[0]))
    whole = GgufFile(str(model))
    assert file.paths == [str(p) for p in parts]
    assert [(t.name, t.dtype, t.shape) for t in file.tensors] == [
        (t.name, t.dtype, t.shape) for t in whole.tensors
    ]


def test_split_later_part(parts: list[Path]) -> None:
    with pytest.raises(InvalidArgumentError, match="load the first part: ") as error:
        GgufFile(str(parts[1]))
    assert message(error).endswith(str(parts[0]))


def test_split_missing_part(parts: list[Path]) -> None:
    parts[2].unlink()
    with pytest.raises(FileNotFoundError, match="missing part 3 of 3: ") as error:
        GgufFile(str(parts[0]))
    assert message(error).endswith(str(parts[2]))


def test_split_parts_joined(parts: list[Path], tmp_path: Path) -> None:
    joined = tmp_path / "joined.gguf"
    joined.write_bytes(b"".join(p.read_bytes() for p in parts))
    assert "must stay separate files" in refused(joined, FileFormatError)


def test_split_part_of_another_model(parts: list[Path], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = split_parts(tmp_path / "other", "Donkey")
    parts[2].write_bytes(other[1].read_bytes())
    with pytest.raises(FileFormatError, match="says it is part 2 of 3"):
        GgufFile(str(parts[0]))


def test_vocabularies_agree_with_the_gguf_package() -> None:
    if not VOCAB.is_dir():
        pytest.skip(f"no vocabularies at {VOCAB}")
    path = VOCAB / "ggml-vocab-bert-bge.gguf"
    metadata = GgufFile(str(path)).metadata
    for name, field in gguf.GGUFReader(path).fields.items():
        if not name.startswith("GGUF."):
            value = metadata[name]
            assert (value.tolist() if isinstance(value, np.ndarray) else value) == field.contents()


def test_files_are_released(model: Path) -> None:
    """A thousand failures and successes leave no descriptor behind."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = len(list(Path("/proc/self/fd").iterdir()))
    broken = model.with_name("broken.gguf")
    broken.write_bytes(model.read_bytes()[:200])
    for _ in range(min(limit, 1000)):
        GgufFile(str(model))
        with pytest.raises(FileFormatError):
            GgufFile(str(broken))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
