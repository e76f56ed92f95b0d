"""Vocabularies: defaults, special ids, and errors that name the key."""

import numpy as np
import pytest

from bactrian.errors import FileFormatError
from bactrian.text.vocab import TokenType, Vocab

P = "tokenizer.ggml."


def test_reads_ids_and_flags(bpe_metadata):
    vocab = Vocab.from_metadata(bpe_metadata)
    assert len(vocab) == 265
    assert (vocab.bos_id, vocab.eos_id, vocab.unk_id) == (260, 261, None)
    assert (vocab.add_bos, vocab.add_eos, vocab.add_sep) == (True, False, False)
    assert vocab.id_of["hello"] == 259
    assert vocab.control_texts() == ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]


def test_end_of_generation_by_id_and_by_text(bpe_metadata):
    vocab = Vocab.from_metadata(bpe_metadata)
    assert vocab.eot_id == 263
    assert vocab.eog_ids == {261, 263}


def test_gpt_oss_keeps_going_after_end(bpe_metadata):
    tokens = [*bpe_metadata[P + "tokens"], "<|end|>", "<|return|>", "<|call|>"]
    bpe_metadata[P + "tokens"] = tokens
    bpe_metadata[P + "token_type"] = np.array([1] * 260 + [3] * 8, np.int32)
    ends = {tokens[i] for i in Vocab.from_metadata(bpe_metadata).eog_ids}
    assert ends == {"</s>", "<|im_end|>", "<|return|>", "<|call|>"}
    bpe_metadata[P + "tokens"] = [*tokens[:-1], "<|other|>"]
    assert 265 in Vocab.from_metadata(bpe_metadata).eog_ids


def test_steering_texts_are_control_whatever_the_file_says(bpe_metadata):
    types = bpe_metadata[P + "token_type"].copy()
    types[[261, 263]] = TokenType.USER_DEFINED
    bpe_metadata[P + "token_type"] = types
    vocab = Vocab.from_metadata(bpe_metadata)
    assert vocab.token_types[261] == vocab.token_types[263] == TokenType.CONTROL
    assert types[261] == TokenType.USER_DEFINED  # the caller's array is untouched


def test_fim_by_text_and_by_key(bpe_metadata):
    bpe_metadata[P + "tokens"] = [*bpe_metadata[P + "tokens"], "<fim_prefix>", "<|fim_suffix|>"]
    bpe_metadata[P + "token_type"] = [1] * 260 + [3] * 7
    assert Vocab.from_metadata(bpe_metadata).fim_ids == {"prefix": 265, "suffix": 266}
    bpe_metadata[P + "middle_token_id"] = 7
    bpe_metadata[P + "fim_pre_token_id"] = 8
    assert Vocab.from_metadata(bpe_metadata).fim_ids == {"prefix": 8, "suffix": 266, "middle": 7}


def test_defaults_of_spm(spm_metadata):
    vocab = Vocab.from_metadata(spm_metadata)
    assert (vocab.bos_id, vocab.eos_id, vocab.unk_id) == (1, 2, 0)
    assert (vocab.add_bos, vocab.add_eos) == (True, False)


def test_llama3_files_without_the_flag_begin_with_bos(bpe_metadata):
    del bpe_metadata[P + "add_bos_token"]
    assert not Vocab.from_metadata(bpe_metadata).add_bos
    assert Vocab.from_metadata(bpe_metadata, pre="llama-bpe").add_bos


def test_duplicates_belong_to_the_first(bpe_metadata):
    bpe_metadata[P + "tokens"] = [*bpe_metadata[P + "tokens"][:-1], "hello"]
    assert Vocab.from_metadata(bpe_metadata).id_of["hello"] == 259


def test_an_id_of_minus_one_means_none(bpe_metadata):
    bpe_metadata[P + "bos_token_id"] = -1
    bpe_metadata[P + "padding_token_id"] = 0xFFFFFFFF
    vocab = Vocab.from_metadata(bpe_metadata)
    assert vocab.bos_id is None
    assert vocab.pad_id is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", None),
        ("model", 5),
        ("tokens", None),
        ("tokens", "abc"),
        ("tokens", ["a", 3]),
        ("tokens", np.arange(265)),
        ("token_type", np.ones(3, np.int32)),
        ("token_type", np.full(265, 9, np.int32)),
        ("token_type", np.full(265, -1, np.int32)),
        ("token_type", np.ones(265, np.float32)),
        ("token_type", ["x"] * 265),
        ("token_type", [[1], [2, 3]]),
        ("token_type", [2**80] * 265),
        ("scores", np.ones(264, np.float32)),
        ("scores", np.full(265, np.nan, np.float32)),
        ("scores", np.full(265, np.inf, np.float32)),
        ("bos_token_id", 265),
        ("bos_token_id", -2),
        ("eos_token_id", "2"),
        ("eos_token_id", True),
        ("eot_token_id", 2.0),
        ("fim_pre_token_id", 10**9),
        ("suffix_token_id", 265),
        ("add_bos_token", 1),
        ("add_eos_token", "yes"),
        ("pre", 3),
        ("suppress_tokens", np.array([265])),
        ("suppress_tokens", np.array([-1])),
        ("suppress_tokens", 7),
    ],
)
def test_errors_name_the_key(bpe_metadata, key, value):
    bpe_metadata[P + key] = value
    if value is None:
        del bpe_metadata[P + key]
    with pytest.raises(FileFormatError, match=f"tokenizer.ggml.{key}"):
        Vocab.from_metadata(bpe_metadata)


def test_suppressed_tokens(bpe_metadata):
    bpe_metadata[P + "suppress_tokens"] = np.array([3, 5], np.int32)
    assert Vocab.from_metadata(bpe_metadata).suppress_ids == {3, 5}
