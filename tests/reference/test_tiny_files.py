"""The makers of test models do what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader, GGUFValueType
from tokenizers import Tokenizer, models, pre_tokenizers

from formats import FORMATS
from make_tiny import ODD_WIDTH, TinyOptions, tiny_llama
from requantize import requantize
from tiny_text import all_text
from vocabulary import BpeEncoder, bpe_vocabulary, spm_vocabulary

BY_GGUF = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4"]


def test_same_options_give_the_same_bytes(tmp_path: Path) -> None:
    a = tiny_llama(tmp_path / "a.gguf").read_bytes()
    assert a == tiny_llama(tmp_path / "b.gguf").read_bytes()
    assert a != tiny_llama(tmp_path / "c.gguf", TinyOptions(seed=1)).read_bytes()


@pytest.mark.parametrize("dtype", BY_GGUF)
def test_format_of_matrices(dtype: str, tmp_path: Path) -> None:
    reader = GGUFReader(tiny_llama(tmp_path / "m.gguf", replace(ODD_WIDTH, dtype=dtype)))
    kinds = {t.tensor_type.name if len(t.shape) == 2 else "vector" for t in reader.tensors}
    assert kinds == {dtype, "vector"}
    assert reader.fields["general.file_type"].contents() == FORMATS[dtype]


def test_any_quantiser_can_be_used(tmp_path: Path) -> None:
    seen: list[str] = []

    def zeros(dtype: str, values: np.ndarray) -> np.ndarray:
        seen.append(dtype)
        return np.zeros((len(values), values.shape[1] // 256 * 210), dtype=np.uint8)

    path = tiny_llama(tmp_path / "m.gguf", TinyOptions(dtype="Q6_K"), quantize=zeros)
    types = [t.tensor_type.name for t in GGUFReader(path).tensors]
    assert seen == ["Q6_K"] * types.count("Q6_K") != []


def test_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rows of 96 are no whole number of Q4_K blocks"):
        tiny_llama(tmp_path / "m.gguf", replace(ODD_WIDTH, dtype="Q4_K"))


@pytest.mark.parametrize("dtype", ["F32", "F16"])
def test_big_endian_holds_the_same_numbers(dtype: str, tmp_path: Path) -> None:
    big = tiny_llama(tmp_path / "big.gguf", TinyOptions(dtype=dtype, big_endian=True))
    little = tiny_llama(tmp_path / "little.gguf", TinyOptions(dtype=dtype))
    assert big.read_bytes()[4:8] == b"\0\0\0\3"
    for a, b in zip(GGUFReader(big).tensors, GGUFReader(little).tensors, strict=True):
        assert a.name == b.name
        assert np.array_equal(a.data, b.data)


def test_version_2(tmp_path: Path) -> None:
    old = tiny_llama(tmp_path / "old.gguf", TinyOptions(version=2)).read_bytes()
    new = tiny_llama(tmp_path / "new.gguf").read_bytes()
    assert old[4:8] == b"\2\0\0\0"
    assert old[8:] == new[8:]


def test_requantize_equals_making_in_that_format(tmp_path: Path) -> None:
    made = GGUFReader(tiny_llama(tmp_path / "made.gguf", TinyOptions(dtype="Q8_0", tied=False)))
    source = tiny_llama(tmp_path / "source.gguf", TinyOptions(tied=False))
    converted = GGUFReader(requantize(source, tmp_path / "converted.gguf", "Q8_0"))
    assert made.fields.keys() == converted.fields.keys()
    for key, field in made.fields.items():
        assert field.types == converted.fields[key].types
        assert field.contents() == converted.fields[key].contents()
    for a, b in zip(made.tensors, converted.tensors, strict=True):
        assert (a.name, a.tensor_type) == (b.name, b.tensor_type)
        assert np.array_equal(a.data, b.data)


@pytest.mark.parametrize("kind", ["bpe", "spm"])
def test_vocabulary_holds_every_byte_once(kind: str) -> None:
    vocabulary = (bpe_vocabulary if kind == "bpe" else spm_vocabulary)(all_text(), 512)
    assert len(vocabulary.tokens) == len(set(vocabulary.tokens)) == len(vocabulary.types) == 512
    if kind == "bpe":
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        assert set(alphabet) <= set(vocabulary.tokens)
    else:
        assert {f"<0x{byte:02X}>" for byte in range(256)} <= set(vocabulary.tokens)


def test_bpe_encoder_agrees_with_tokenizers() -> None:
    vocabulary = bpe_vocabulary(all_text(), 512)
    ids = {token: i for i, token in enumerate(vocabulary.tokens)}
    oracle = Tokenizer(models.BPE(vocab=ids, merges=vocabulary.merges))
    oracle.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    for text in [all_text(), "a  12 b", "it's\n\n  x_1;  ", "\t~!", "THE END"]:
        assert BpeEncoder(vocabulary).encode(text) == oracle.encode(text).ids


def test_chat_marks_and_template_are_there(tmp_path: Path) -> None:
    for kind in ("bpe", "spm"):
        fields = GGUFReader(
            tiny_llama(tmp_path / f"{kind}.gguf", TinyOptions(vocabulary=kind))
        ).fields
        tokens = fields["tokenizer.ggml.tokens"].contents()
        assert tokens[fields["tokenizer.ggml.eot_token_id"].contents()] == "<|im_end|>"
        assert fields["tokenizer.ggml.tokens"].types == [GGUFValueType.ARRAY, GGUFValueType.STRING]
        assert "<|im_start|>" in fields["tokenizer.chat_template"].contents()
