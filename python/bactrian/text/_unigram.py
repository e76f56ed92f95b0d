"""SentencePiece unigram language model (``tokenizer.ggml.model`` = ``t5``; XLM-R files too)."""

from __future__ import annotations

import numpy as np

from bactrian.errors import FileFormatError
from bactrian.text import _keys, _sentencepiece
from bactrian.text._keys import Metadata
from bactrian.text.vocab import Vocab

_CHARSMAP_KEY = "tokenizer.ggml.precompiled_charsmap"


class UnigramCodec:
    """Ordinary text <-> ids of a unigram vocabulary; normalises as the file's charsmap says."""

    def __init__(self, vocab: Vocab, metadata: Metadata) -> None:
        self._tokens = vocab.tokens
        self._types = vocab.token_types
        add_prefix = _keys.get_bool(metadata, "tokenizer.ggml.add_space_prefix")
        remove_extra = _keys.get_bool(metadata, "tokenizer.ggml.remove_extra_whitespaces")
        self.prefix_space = True if add_prefix is None else add_prefix
        options = _sentencepiece.Options(
            _sentencepiece.UNIGRAM,
            charsmap=_charsmap(metadata),
            add_dummy_prefix=self.prefix_space,
            remove_extra_whitespaces=True if remove_extra is None else remove_extra,
        )
        self._processor = _sentencepiece.build_processor(vocab, options)

    def encode(self, text: str, *, at_start: bool) -> list[int]:
        """Ids of ordinary text; the prefix space is part of the model's own normalisation."""
        del at_start
        ids: list[int] = self._processor.EncodeAsIds(text)
        return ids

    def token_bytes(self, token: int) -> bytes:
        """Bytes that an ordinary token stands for."""
        return _sentencepiece.piece_bytes(self._tokens[token], int(self._types[token]))


def _charsmap(metadata: Metadata) -> bytes:
    values = _keys.get_numbers(metadata, _CHARSMAP_KEY, "iu")
    if values is None or not values.size:
        return b""
    if values.dtype.itemsize != 1:
        if not 0 <= values.min() <= values.max() <= 0xFF:
            raise FileFormatError(f"{_CHARSMAP_KEY} must hold bytes")
        values = values.astype(np.uint8)
    blob = values.tobytes()
    _check_charsmap(blob)
    return blob


def _check_charsmap(blob: bytes) -> None:
    """Makes sure that walking the map never leaves it: the library follows offsets unchecked.

    Layout: u32 size of the trie in bytes; the trie, a double array of u32 units (darts-clone);
    replacement strings, each ended by a zero byte. A unit holds an offset to its children, a flag
    saying that its child 0 holds a value (a position among the strings), and a label.
    """
    n_bytes = int.from_bytes(blob[:4], "little")
    strings = blob[4 + n_bytes :]
    if len(blob) < 8 or n_bytes % 4 or n_bytes < 4 or not strings or strings[-1] != 0:
        raise FileFormatError(f"{_CHARSMAP_KEY} is damaged: wrong sizes")
    units = np.frombuffer(blob, "<u4", n_bytes // 4, 4).astype(np.int64)
    index = np.arange(len(units))
    inner = units >> 31 == 0
    children = index ^ ((units >> 10) << ((units & 0x200) >> 6))
    if ((children | 0xFF)[inner] >= len(units)).any():
        raise FileFormatError(f"{_CHARSMAP_KEY} is damaged: an offset leaves the trie")
    with_value = inner & (units & 0x100 != 0)
    positions = units[children[with_value]] & 0x7FFFFFFF
    if (positions >= len(strings)).any():
        raise FileFormatError(f"{_CHARSMAP_KEY} is damaged: a value leaves the strings")
