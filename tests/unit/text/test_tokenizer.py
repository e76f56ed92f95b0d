"""Special tokens, the trust boundary, round trips, and hostile vocabularies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bactrian.errors import FileFormatError, InvalidArgumentError, UnsupportedError
from bactrian.text.tokenizer import Tokenizer

P = "tokenizer.ggml."
BOS, EOS, START, END, TOOL = 260, 261, 262, 263, 264


def test_special_tokens_are_split_first(bpe):
    assert bpe.encode("<|im_start|>hello<|im_end|>") == [START, 259, END]
    assert bpe.encode("he<tool>llo") == [256, TOOL, 258]


def test_unparsed_control_tokens_are_text_but_user_defined_ones_stay(bpe):
    ids = bpe.encode("<|im_end|><tool>", parse_special=False)
    assert ids[-1] == TOOL
    assert all(i < 260 for i in ids[:-1])
    assert bpe.decode(ids) == "<|im_end|><tool>"


@pytest.mark.parametrize(
    ("text", "ids"),
    [("hello", [BOS, 259]), ("<s>hello", [BOS, 259]), ("", [BOS]), ("<s><s>", [BOS, BOS])],
)
def test_one_bos(bpe, text, ids):
    assert bpe.encode(text, add_special=True) == ids
    assert bpe.encode("hello") == [259]


def test_bos_as_text_does_not_count(bpe):
    ids = bpe.encode("<s>", add_special=True, parse_special=False)
    assert ids == [BOS, *(ord(c) for c in "<s>")]


def test_flags_of_the_file(bpe_metadata):
    bpe_metadata.update({P + "add_bos_token": False, P + "add_eos_token": True})
    tokenizer = Tokenizer.from_metadata(bpe_metadata)
    assert tokenizer.encode("hello", add_special=True) == [259, EOS]


def test_longest_special_token_wins(bpe_metadata):
    bpe_metadata[P + "tokens"] = [*bpe_metadata[P + "tokens"], "abc", "bcde", "b"]
    bpe_metadata[P + "token_type"] = [1] * 260 + [3, 3, 3, 3, 4, 4, 4, 4]
    tokenizer = Tokenizer.from_metadata(bpe_metadata)
    # Longest first over the whole text, not from left to right.
    assert tokenizer.encode("abcde") == [ord("a"), 266]
    assert tokenizer.encode("abcabcde") == [265, ord("a"), 266]
    assert tokenizer.encode("abb") == [ord("a"), 267, 267]


def test_segments_leave_no_seam(bpe):
    assert bpe.encode_segments([("he", True), ("l", False), ("lo", True)]) == [259]


@pytest.mark.parametrize(
    "segments",
    [
        [("<|im_end|>", False)],
        [("<|im_", True), ("end|>", False)],
        [("<", True), ("|im_end|", False), (">", True)],
        [("<|im_end|", False), (">", True)],
        [("<|im", False), ("_end|>", False)],
    ],
)
def test_untrusted_text_has_no_control_tokens(bpe, segments):
    ids = bpe.encode_segments(segments)
    assert max(ids) < 260
    assert bpe.decode(ids) == "<|im_end|>"


def test_trusted_text_around_untrusted(bpe):
    segments = [("<|im_start|>", True), ("<|im_end|>", False), ("<|im", True), ("_end|>", True)]
    ids = bpe.encode_segments(segments)
    assert ids[0] == START
    assert ids[-1] == END
    assert max(ids[1:-1]) < 260


def test_a_word_spelled_like_a_control_token_is_a_word(bpe_metadata):
    tokens = [*bpe_metadata[P + "tokens"], "system"]
    bpe_metadata.update(
        {P + "tokens": tokens, P + "token_type": [1] * 260 + [3] * 6, P + "pre": "llama-bpe"}
    )
    tokenizer = Tokenizer.from_metadata(bpe_metadata)
    # This pre-tokenizer takes whole words from the vocabulary before merging.
    assert tokenizer.encode("system", parse_special=False) == [ord(c) for c in "system"]
    assert tokenizer.encode("hello", parse_special=False) == [259]


def test_spm_prefix_space(spm):
    space = 259
    assert spm.encode("hello") == [268]
    assert spm.encode(" hello") == [space, 268]
    assert spm.encode("</s>hello") == [2, 268]
    assert spm.encode("<sep>hello") == [spm.n_vocab - 1, 268]
    assert spm.encode("hello", add_special=True) == [1, 268]
    assert spm.decode([1, 268], skip_special=True) == "hello"
    assert spm.decode([268, 268]) == "hello hello"
    assert spm.decode([268], at_start=False) == " hello"


def test_spm_without_prefix_space(spm_metadata):
    spm_metadata[P + "add_space_prefix"] = False
    tokenizer = Tokenizer.from_metadata(spm_metadata)
    assert tokenizer.encode("hello") == [267]
    assert tokenizer.decode(tokenizer.encode(" hello")) == " hello"


def test_spm_falls_back_to_bytes(spm):
    ids = spm.encode("é🦙")
    assert [spm.token_bytes(i) for i in ids[-4:]] == [b"\xf0", b"\x9f", b"\xa6", b"\x99"]
    assert spm.decode(ids) == "é🦙"


def test_token_bytes_and_texts(bpe, spm):
    assert bpe.token_bytes(0xC3) == b"\xc3"
    assert bpe.token_bytes(ord(" ")) == b" "
    assert bpe.token_text(ord(" ")) == "Ġ"
    assert bpe.token_bytes(END) == b"<|im_end|>"
    assert spm.token_bytes(268) == b" hello"
    assert spm.token_bytes(3) == b"\x00"
    assert bpe.decode([np.int32(259)]) == "hello"


@pytest.mark.parametrize("token", [-1, 265, 10**20, "a", 1.0, None])
def test_ids_outside_the_vocabulary(bpe, token):
    with pytest.raises(InvalidArgumentError):
        bpe.token_bytes(token)
    with pytest.raises(InvalidArgumentError):
        bpe.decode([token])


def test_decode_hides_control_tokens_on_request(bpe):
    ids = [BOS, START, 259, TOOL, END]
    assert bpe.decode(ids) == "<s><|im_start|>hello<tool><|im_end|>"
    assert bpe.decode(ids, skip_special=True) == "hello<tool>"


def test_decode_of_broken_bytes(bpe):
    assert bpe.decode([0xF0, 0x9F, ord("o"), 0x80, ord("k")]) == "\ufffdo\ufffdk"


def test_lone_surrogates_are_refused(bpe, spm):
    for tokenizer in (bpe, spm):
        with pytest.raises(InvalidArgumentError, match="U\\+D83D"):
            tokenizer.encode("a\ud83d")


@given(text=st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_round_trips(round_trip_tokenizers, text):
    bpe, spm = round_trip_tokenizers
    for parse_special in (False, True):
        assert bpe.decode(bpe.encode(text, parse_special=parse_special)) == text
        # SentencePiece writes a space as U+2581, and so can't tell the two apart.
        ids = spm.encode(text, parse_special=parse_special)
        assert spm.decode(ids) == text.replace("\u2581", " ")


@given(parts=st.lists(st.tuples(st.sampled_from(["<|im_end|>", "<s>", "<", "|", "im_end|>", "h"]))))
@settings(max_examples=100, deadline=None)
def test_untrusted_parts_never_make_control_tokens(round_trip_tokenizers, parts):
    bpe = round_trip_tokenizers[0]
    ids = bpe.encode_segments([(text, False) for (text,) in parts])
    assert not set(ids) & {BOS, EOS, START, END}


@pytest.mark.parametrize("model", ["none", "no_vocab"])
def test_without_a_tokenizer_only_ids_work(model):
    tokenizer = Tokenizer.from_metadata({P + "model": model})
    with pytest.raises(UnsupportedError, match="pass token ids"):
        tokenizer.encode("hi")


def test_unknown_model(bpe_metadata):
    bpe_metadata[P + "model"] = "rwkv"
    with pytest.raises(UnsupportedError, match=r"'rwkv'.*supported are: gpt2, llama"):
        Tokenizer.from_metadata(bpe_metadata)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("merges", None, "merges is missing"),
        ("merges", ["he"], "entry 0"),
        ("merges", ["h e", "h "], "entry 1"),
        ("merges", ["h zz"], "'zz'"),
        ("merges", ["a b"], "'ab'"),
        ("merges", [1], "array of strings"),
    ],
)
def test_damaged_merges(bpe_metadata, key, value, message):
    bpe_metadata[P + key] = value
    if value is None:
        del bpe_metadata[P + key]
    with pytest.raises(FileFormatError, match=message):
        Tokenizer.from_metadata(bpe_metadata)


def test_bytes_that_a_vocabulary_lacks(bpe_metadata):
    tokens = list(bpe_metadata[P + "tokens"])
    tokens[0xF4] = "unused"
    bpe_metadata[P + "tokens"] = tokens
    tokenizer = Tokenizer.from_metadata(bpe_metadata)
    assert tokenizer.encode("hello") == [259]
    with pytest.raises(InvalidArgumentError, match="0xF4"):
        tokenizer.encode("\U0010fffd")


@pytest.mark.parametrize("key", ["scores", "unknown_token_id"])
def test_what_spm_needs(spm_metadata, key):
    if key == "scores":
        del spm_metadata[P + key]
    else:
        spm_metadata[P + key] = -1
    with pytest.raises(FileFormatError, match=key):
        Tokenizer.from_metadata(spm_metadata)


def test_spm_with_odd_tokens(spm_metadata):
    tokens = list(spm_metadata[P + "tokens"])
    tokens[260:262] = ["", "▁hello"]  # an empty one, and one that occurs again
    spm_metadata[P + "tokens"] = tokens
    tokenizer = Tokenizer.from_metadata(spm_metadata)
    assert tokenizer.encode("hello") == [261]
    assert tokenizer.decode([268]) == "hello"


def test_spm_without_byte_tokens_uses_unknown(spm_metadata):
    types = spm_metadata[P + "token_type"].copy()
    types[3:259] = 5
    spm_metadata[P + "token_type"] = types
    tokenizer = Tokenizer.from_metadata(spm_metadata)
    assert tokenizer.encode("🦙")[-1] == 0


def test_many_special_tokens(bpe_metadata):
    more = [f"<|extra_{n}|>" for n in range(20000)]
    bpe_metadata[P + "tokens"] = [*bpe_metadata[P + "tokens"], *more]
    bpe_metadata[P + "token_type"] = [1] * 260 + [3] * 20005
    tokenizer = Tokenizer.from_metadata(bpe_metadata)
    assert tokenizer.encode("<|extra_19999|>" * 3) == [20264] * 3


@pytest.fixture(scope="module")
def charsmap_metadata():
    tokens = ["<unk>", "▁", "a", "b", "▁a"]
    return {
        P + "model": "t5",
        P + "tokens": tokens,
        P + "scores": [0.0, -2.0, -3.0, -4.0, -1.0],
        P + "token_type": [2, 1, 1, 1, 1],
        P + "unknown_token_id": 0,
    }


def test_unigram(charsmap_metadata):
    tokenizer = Tokenizer.from_metadata({**charsmap_metadata, P + "add_eos_token": False})
    assert tokenizer.encode("ab  a") == [4, 3, 4]
    assert tokenizer.encode("xyz a") == [1, 0, 4]  # unknown characters in a row are one token
    assert tokenizer.decode([4, 3, 4]) == "ab a"


@pytest.mark.parametrize(
    "blob",
    [
        b"\x04\0\0\0",
        b"\xff\xff\xff\x7f" + bytes(16),
        b"\x04\0\0\0" + b"\xff\xff\xff\x7f" + b"x\0",  # offset far outside
        b"\x04\0\0\0" + bytes(4) + b"x",  # strings without an end
        (1024).to_bytes(4, "little") + b"\x00\x05\0\0" + b"\xff\xff\xff\xff" * 255 + b"x\0",
    ],
)
def test_damaged_charsmaps_are_refused(charsmap_metadata, blob):
    key = P + "precompiled_charsmap"
    with pytest.raises(FileFormatError, match=key):
        Tokenizer.from_metadata({**charsmap_metadata, key: np.frombuffer(blob, np.uint8)})
