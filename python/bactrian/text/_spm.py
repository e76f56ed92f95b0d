"""SentencePiece byte-pair encoding (``tokenizer.ggml.model`` = ``llama``)."""

from __future__ import annotations

from bactrian.text import _keys, _sentencepiece
from bactrian.text._keys import Metadata
from bactrian.text.vocab import Vocab


class SpmCodec:
    """Ordinary text <-> ids of a SentencePiece BPE vocabulary with byte fallback."""

    def __init__(self, vocab: Vocab, metadata: Metadata) -> None:
        self._tokens = vocab.tokens
        self._types = vocab.token_types
        add_prefix = _keys.get_bool(metadata, "tokenizer.ggml.add_space_prefix")
        self.prefix_space = True if add_prefix is None else add_prefix
        options = _sentencepiece.Options(_sentencepiece.BPE)
        self._processor = _sentencepiece.build_processor(vocab, options)

    def encode(self, text: str, *, at_start: bool) -> list[int]:
        """Ids of ordinary text; ``at_start``: at the start of all text or after a special token."""
        if self.prefix_space and at_start:
            text = " " + text
        ids: list[int] = self._processor.EncodeAsIds(text)
        return ids

    def token_bytes(self, token: int) -> bytes:
        """Bytes that an ordinary token stands for."""
        return _sentencepiece.piece_bytes(self._tokens[token], int(self._types[token]))
