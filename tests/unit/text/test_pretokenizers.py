"""Every rule of the table works, and unknown names are refused with a way out."""

import logging

import pytest
from tokenizers import Regex
from tokenizers.pre_tokenizers import Sequence, Split

from bactrian.errors import UnsupportedError
from bactrian.text.pretokenizers import PRE_TOKENIZERS, pre_tokenizer
from bactrian.text.tokenizer import Tokenizer

TEXT = "It's 12345 o'clock,\r\n\n  ÉTÉ naïve 你好 かな ٣٤ été!!\t x_y == {z}  "


def words(name: str, text: str) -> list[str]:
    patterns = PRE_TOKENIZERS[name].patterns
    splits = [Split(Regex(pattern), behavior="isolated") for pattern in patterns]
    return [word for word, _ in Sequence(splits).pre_tokenize_str(text)]


@pytest.mark.parametrize("name", sorted(PRE_TOKENIZERS))
def test_no_text_is_lost(name):
    assert "".join(words(name, TEXT)) == TEXT


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("gpt-2", "I'LL don't 123", ["I", "'", "LL", " don", "'t", " 123"]),
        ("gpt-2", "a   b", ["a", "  ", " b"]),
        ("llama-bpe", "I'LL 12345", ["I", "'LL", " ", "123", "45"]),
        ("llama-bpe", "(x)\n\n y", ["(x", ")\n\n", " y"]),
        ("qwen2", "x 123", ["x", " ", "1", "2", "3"]),
        ("smollm", "a 12", ["a", " ", "1", "2"]),
        ("starcoder", "a12 b", ["a", "1", "2", " b"]),
        ("tekken", "helloWorld 12", ["hello", "World", " ", "1", "2"]),
        ("gpt-4o", "it's 1234/\n", ["it's", " ", "123", "4", "/\n"]),
        ("qwen35", "e\u0301a", ["e\u0301a"]),
        ("qwen2", "e\u0301a", ["e", "\u0301a"]),
        ("deepseek-v3", "1234你好a.b", ["123", "4", "你好", "a", ".b"]),
        ("deepseek-coder", "a 12\nb", ["a", " ", "1", "2", "\n", "b"]),
        ("deepseek-llm", "abc 12!", ["abc", " ", "12", "!"]),
        ("deepseek-llm", "κώΩ漢", ["κώΩ", "漢"]),
        ("falcon", "a+b 12345", ["a", "+", "b", " ", "123", "45"]),
        ("default", "a 12345", ["a", " ", "123", "45"]),
        ("bloom", "Hi there, you", ["Hi", " there", ",", " you"]),
        ("viking", "a12", ["a", "1", "2"]),
        ("kimi-k2", "你好abc你", ["你好", "abc", "你"]),
        ("seed-coder", "x;\ny", ["x", ";", "\n", "y"]),
        ("bailingmoe", "it's 12", ["it", "'s", " ", "1", "2"]),
    ],
)
def test_splits(name, text, expected):
    assert words(name, text) == expected


def test_whole_words_come_first_where_the_model_was_trained_so():
    assert PRE_TOKENIZERS["llama-bpe"].ignore_merges
    assert PRE_TOKENIZERS["tekken"].ignore_merges
    assert not PRE_TOKENIZERS["qwen2"].ignore_merges


def test_unknown_name(bpe_metadata):
    bpe_metadata["tokenizer.ggml.pre"] = "brand-new"
    with pytest.raises(UnsupportedError, match=r"'brand-new'.*--pre NAME.*llama-bpe.*qwen2"):
        Tokenizer.from_metadata(bpe_metadata)
    override = Tokenizer.from_metadata(bpe_metadata, pre="gpt-2")
    assert override.encode("hello") == [259]


def test_missing_name_warns(bpe_metadata, caplog):
    del bpe_metadata["tokenizer.ggml.pre"]
    with caplog.at_level(logging.WARNING, logger="bactrian"):
        tokenizer = Tokenizer.from_metadata(bpe_metadata)
    assert "tokenizer.ggml.pre" in caplog.text
    assert tokenizer.encode("hello") == [259]
    assert pre_tokenizer(None) == PRE_TOKENIZERS["default"]
