"""Vocabularies for tests: tiny ones made here, and the published ones beside the checkout."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bactrian._core import GgufFile
from bactrian.text.tokenizer import Tokenizer

Metadata = dict[str, object]

VOCAB_FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "vocab"

#: Printable stand-ins of the 256 bytes in byte-level vocabularies, in the order of the bytes.
_PLAIN = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PLAIN]
BYTE_CHARACTERS = [
    chr(byte) if byte in _PLAIN else chr(0x100 + _OTHERS.index(byte)) for byte in range(256)
]


@cache
def _published(name: str) -> Metadata:
    return GgufFile(str(VOCAB_FOLDER / f"ggml-vocab-{name}.gguf")).metadata


@cache
def _published_tokenizer(name: str) -> Tokenizer:
    return Tokenizer.from_metadata(_published(name))


@pytest.fixture(scope="session")
def vocab_folder() -> Path:
    if not VOCAB_FOLDER.is_dir():
        pytest.skip(f"the published vocabularies are not at {VOCAB_FOLDER}")
    return VOCAB_FOLDER


@pytest.fixture(scope="session")
def published(vocab_folder: Path) -> Callable[[str], Metadata]:
    """Metadata of a published vocabulary by name."""
    return _published


@pytest.fixture(scope="session")
def published_tokenizer(vocab_folder: Path) -> Callable[[str], Tokenizer]:
    """Tokenizer of a published vocabulary by name."""
    return _published_tokenizer


def make_bpe_metadata() -> Metadata:
    """Byte-level BPE: ids 0..255 are the bytes, then four merged and five special tokens."""
    tokens = [*BYTE_CHARACTERS, "he", "ll", "llo", "hello"]
    specials = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<tool>"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": [*tokens, *specials],
        "tokenizer.ggml.token_type": np.array([1] * 260 + [3, 3, 3, 3, 4], np.int32),
        "tokenizer.ggml.merges": ["h e", "l l", "ll o", "he llo"],
        "tokenizer.ggml.bos_token_id": 260,
        "tokenizer.ggml.eos_token_id": 261,
        "tokenizer.ggml.add_bos_token": True,
    }


def make_spm_metadata() -> Metadata:
    """SPM: <unk>, <s>, </s>, the 256 byte tokens (3..258), then pieces from 259 on."""
    pieces = ["▁", "h", "e", "l", "o", "he", "ll", "llo", "hello", "▁hello", "é"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *pieces, "<sep>"]
    scores = [0.0] * 259 + [-float(n) for n in range(len(pieces), 0, -1)] + [0.0]
    types = [2, 3, 3] + [6] * 256 + [1] * len(pieces) + [4]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": np.array(scores, np.float32),
        "tokenizer.ggml.token_type": np.array(types, np.int32),
    }


@pytest.fixture
def bpe_metadata() -> Metadata:
    return make_bpe_metadata()


@pytest.fixture
def bpe(bpe_metadata: Metadata) -> Tokenizer:
    return Tokenizer.from_metadata(bpe_metadata)


@pytest.fixture
def spm_metadata() -> Metadata:
    return make_spm_metadata()


@pytest.fixture
def spm(spm_metadata: Metadata) -> Tokenizer:
    return Tokenizer.from_metadata(spm_metadata)


@pytest.fixture(scope="module")
def round_trip_tokenizers() -> list[Tokenizer]:
    """The tiny BPE and SPM tokenizers, made once for tests with many examples."""
    return [Tokenizer.from_metadata(make()) for make in (make_bpe_metadata, make_spm_metadata)]
