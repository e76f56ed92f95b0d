"""WordPiece (``tokenizer.ggml.model`` = ``bert``)."""

from __future__ import annotations

from typing import Any

from bactrian.errors import FileFormatError
from bactrian.text import _keys
from bactrian.text._keys import Metadata
from bactrian.text.vocab import TokenType, Vocab

_WORD_START = "\u2581"
_CONTINUING = "##"


class WordPieceCodec:
    """Ordinary text <-> ids of a BERT vocabulary.

    GGUF files mark the first piece of a word with U+2581 where BERT's own files mark the others
    with ``##``; the ``tokenizers`` library gets the latter form.
    """

    prefix_space = True

    def __init__(self, vocab: Vocab, metadata: Metadata) -> None:
        self._tokens = vocab.tokens
        self._tokenizer = _build(vocab, metadata)

    def encode(self, text: str, *, at_start: bool) -> list[int]:
        """Ids of ordinary text."""
        del at_start  # words are words wherever they stand
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def token_bytes(self, token: int) -> bytes:
        """Bytes that an ordinary token stands for."""
        return self._tokens[token].replace(_WORD_START, " ").encode()


def _build(vocab: Vocab, metadata: Metadata) -> Any:  # noqa: ANN401 (tokenizers has no stubs)
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    if vocab.unk_id is None:
        raise FileFormatError(
            "tokenizer.ggml.unknown_token_id is missing: a 'bert' tokenizer needs it"
        )
    # The unknown token first: no ordinary piece may take its name.
    pieces = {vocab.tokens[vocab.unk_id]: vocab.unk_id}
    for i in vocab.ids_of_types(TokenType.NORMAL, TokenType.UNUSED):
        text = vocab.tokens[i]
        starts_word = text.startswith(_WORD_START)
        pieces.setdefault(text[1:] if starts_word else _CONTINUING + text, i)
    lowercase = _keys.get_bool(metadata, "tokenizer.ggml.normalizer.lowercase")
    strip_accents = _keys.get_bool(metadata, "tokenizer.ggml.normalizer.strip_accents")
    model = WordPiece(
        vocab=pieces,
        unk_token=vocab.tokens[vocab.unk_id],
        continuing_subword_prefix=_CONTINUING,
        max_input_chars_per_word=100,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = BertNormalizer(
        clean_text=True,
        handle_chinese_chars=True,
        lowercase=True if lowercase is None else lowercase,
        strip_accents=True if strip_accents is None else strip_accents,
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer
