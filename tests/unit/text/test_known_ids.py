"""Published vocabularies give the ids that their own tokenizers give."""

from pathlib import Path

import pytest

NAMES = (
    *("bert-bge", "deepseek-coder", "falcon", "gpt-2", "llama-bpe", "llama-spm", "mpt"),
    *("phi-3", "qwen2", "starcoder"),
)


def known(folder: Path, name: str) -> list[tuple[str, list[int]]]:
    file = folder / f"ggml-vocab-{name}.gguf"
    inputs = Path(f"{file}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    lines = Path(f"{file}.out").read_text(encoding="utf-8").splitlines()
    # A separator follows the last text too.
    assert len(inputs) == len(lines) + 1 == 47
    assert inputs.pop() == ""
    return [
        (text, [int(i) for i in line.split()]) for text, line in zip(inputs, lines, strict=True)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_known_ids(published_tokenizer, vocab_folder, name):
    tokenizer = published_tokenizer(name)
    for text, ids in known(vocab_folder, name):
        assert tokenizer.encode(text, parse_special=False) == ids, text


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bert-bge"])
def test_decoding_gives_the_text_back(published_tokenizer, vocab_folder, name):
    tokenizer = published_tokenizer(name)
    for text, ids in known(vocab_folder, name):
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello world", [15043, 3186]),
        (" Hello world", [29871, 15043, 3186]),
        ("This is 🦙.cpp", [910, 338, 29871, 243, 162, 169, 156, 29889, 8223]),
    ],
)
def test_llama2(published_tokenizer, text, ids):
    tokenizer = published_tokenizer("llama-spm")
    assert tokenizer.encode(text) == ids
    assert tokenizer.encode(text, add_special=True) == [1, *ids]
    assert tokenizer.decode([1, *ids], skip_special=True) == text


def test_llama2_at_special_tokens(published_tokenizer):
    tokenizer = published_tokenizer("llama-spm")
    # The prefix space comes back after a special token, and one more space is one more token.
    assert tokenizer.encode("</s>Hello") == [2, 15043]
    assert tokenizer.encode("</s> Hello") == [2, 29871, 15043]
    plain = tokenizer.encode("</s>Hello", parse_special=False)
    assert 2 not in plain
    assert tokenizer.decode(plain) == "</s>Hello"


# From the documentation of the XLM-R model, whose vocabulary this file carries.
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello world!", [0, 35378, 8999, 38, 2]),
        ("你好，世界", [0, 6, 124084, 4, 3221, 2]),
        ("नमस्ते दुनिया", [0, 68700, 97883, 29405, 2]),
        ("مرحبا بالعالم", [0, 665, 193478, 258, 1705, 77796, 2]),
        ("Bonjour le monde", [0, 84602, 95, 11146, 2]),
    ],
)
def test_xlm_r(published_tokenizer, text, ids):
    tokenizer = published_tokenizer("nomic-bert-moe")
    assert tokenizer.encode(text, add_special=True) == ids


def test_unigram_round_trip_and_normalisation(published_tokenizer):
    tokenizer = published_tokenizer("nomic-bert-moe")
    for text in ("Ein schöner Tag", "日本語のテキスト", "a b c", "x=1; y=2"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    # NFKC and collapsed white space, as the file's charsmap and flags say.
    assert tokenizer.encode("ｆｕｌｌ   width ①") == tokenizer.encode("full width 1")


def test_bert_special_tokens(published_tokenizer):
    tokenizer = published_tokenizer("bert-bge")
    assert tokenizer.encode("Hello World", add_special=True) == [101, 7592, 2088, 102]
    assert tokenizer.encode("[MASK] it") == [103, 2009]
    assert 103 not in tokenizer.encode("[MASK] it", parse_special=False)
    assert tokenizer.encode("x" * 101) == [100]
    assert tokenizer.decode([7592, 2088]) == "hello world"


def test_phi3_tokens_swallow_white_space_after_them(published_tokenizer):
    tokenizer = published_tokenizer("phi-3")
    assert tokenizer.encode("<|user|>\n Hi<|end|>\n") == [32010, *tokenizer.encode("Hi"), 32007]
    assert tokenizer.vocab.eog_ids >= {32000, 32007}


def test_added_tokens_of_mpt_come_before_merging(published_tokenizer):
    tokenizer = published_tokenizer("mpt")
    assert tokenizer.encode(" " * 24, parse_special=False) == [50254]
    assert tokenizer.encode(" " * 25, parse_special=False)[0] == 50254
