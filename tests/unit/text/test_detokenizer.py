"""Text in whole characters, whatever the tokens' borders are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bactrian.errors import InvalidArgumentError
from bactrian.text.detokenizer import Detokenizer

FIRST_BYTE = 3  # of the tiny SPM vocabulary


def byte_ids(data: bytes) -> list[int]:
    return [FIRST_BYTE + byte for byte in data]


def pieces(detokenizer: Detokenizer, ids: list[int]) -> list[str]:
    return [*(detokenizer.push(i) for i in ids), detokenizer.finish()]


def test_a_character_comes_when_it_is_complete(spm):
    ids = byte_ids("🦙é".encode())
    assert pieces(Detokenizer(spm), ids) == ["", "", "", "🦙", "", "é", ""]


@pytest.mark.parametrize("n_bytes", [1, 2, 3])
def test_an_unfinished_character_is_shown_as_one_replacement(spm, n_bytes):
    ids = byte_ids("🦙".encode()[:n_bytes])
    assert pieces(Detokenizer(spm), ids) == [*[""] * n_bytes, "\ufffd"]


def test_an_invalid_byte_does_not_stop_the_text(spm):
    ids = [*byte_ids(b"\x80"), *spm.encode("hello"), *byte_ids(b"\xf0\x9f"), 268]
    assert "".join(pieces(Detokenizer(spm), ids)) == "\ufffd hello\ufffd hello"


def test_prefix_space_goes_only_at_the_start_of_a_text(spm):
    ids = [1, 268, 268]
    assert pieces(Detokenizer(spm, at_start=True), ids) == ["", "hello", " hello", ""]
    assert pieces(Detokenizer(spm), ids) == ["", " hello", " hello", ""]


def test_control_tokens_are_shown_on_request(bpe):
    ids = [260, 259, 264, 263]
    assert pieces(Detokenizer(bpe), ids) == ["", "hello", "<tool>", "", ""]
    shown = Detokenizer(bpe, skip_special=False)
    assert "".join(pieces(shown, ids)) == "<s>hello<tool><|im_end|>"


def test_unknown_ids(bpe):
    with pytest.raises(InvalidArgumentError):
        Detokenizer(bpe).push(265)


@given(ids=st.lists(st.integers(0, 264), max_size=40), skip=st.booleans(), start=st.booleans())
@settings(max_examples=200, deadline=None)
def test_same_text_as_decoding_at_once(round_trip_tokenizers, ids, skip, start):
    for tokenizer in round_trip_tokenizers:
        whole = tokenizer.decode(ids, skip_special=skip, at_start=start)
        stream = pieces(Detokenizer(tokenizer, skip_special=skip, at_start=start), ids)
        assert "".join(stream) == whole
        whole.encode()


def test_published_vocabularies(published_tokenizer):
    text = "Größe: 😀, 你好! 日本"
    for name in ("llama-spm", "llama-bpe", "nomic-bert-moe"):
        tokenizer = published_tokenizer(name)
        ids = tokenizer.encode(text)
        stream = pieces(Detokenizer(tokenizer, at_start=True), ids)
        assert "".join(stream) == tokenizer.decode(ids)
        assert "\ufffd" not in "".join(stream)
