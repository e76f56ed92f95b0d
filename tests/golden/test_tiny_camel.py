"""The trained model, its goldens and its vocabulary belong together."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from gguf import GGUFReader

from golden.make_tiny_camel import GOLDEN, MODEL, Camel
from requantize import requantize
from tiny_text import all_text
from vocabulary import CHAT_TEMPLATE, bpe_vocabulary

COMPLETIONS = json.loads(GOLDEN.read_text(encoding="utf-8"))["completions"]


def test_goldens_are_of_this_file() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert hashlib.sha256(MODEL.read_bytes()).hexdigest() == golden["model_sha256"]
    assert golden["model_sha256"] in (MODEL.parent / "README.md").read_text(encoding="utf-8")
    assert MODEL.stat().st_size <= 2_000_000


def test_vocabulary_is_that_of_the_text() -> None:
    fields = GGUFReader(MODEL).fields
    vocabulary = bpe_vocabulary(all_text(), 512)
    assert fields["tokenizer.ggml.tokens"].contents() == vocabulary.tokens
    merges = [" ".join(merge) for merge in vocabulary.merges]
    assert fields["tokenizer.ggml.merges"].contents() == merges
    assert fields["tokenizer.chat_template"].contents() == CHAT_TEMPLATE


@pytest.mark.parametrize("dtype", ["F16", "Q8_0", "Q4_0", "MXFP4"])
def test_says_the_same_in_every_format(dtype: str, tmp_path: Path) -> None:
    camel = Camel(requantize(MODEL, tmp_path / "camel.gguf", dtype))
    for golden in COMPLETIONS:
        result = camel.complete(golden["prompt"])
        assert result["tokens"] == golden["tokens"]
        assert result["greedy"] == golden["greedy"]
        assert result["smallest_lead"] > 1.0
