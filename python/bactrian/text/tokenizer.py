"""Text to token ids and back, for every kind of vocabulary a GGUF file carries."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Protocol

from bactrian.errors import InvalidArgumentError, UnsupportedError
from bactrian.text import _keys
from bactrian.text._bpe import BpeCodec
from bactrian.text._keys import Metadata
from bactrian.text._special import Segment, SpecialSplitter
from bactrian.text._spm import SpmCodec
from bactrian.text._unigram import UnigramCodec
from bactrian.text._wordpiece import WordPieceCodec
from bactrian.text.vocab import TokenType, Vocab


class _Codec(Protocol):
    """Ordinary text, free of special tokens, to ids and back."""

    prefix_space: bool

    def encode(self, text: str, *, at_start: bool) -> list[int]: ...

    def token_bytes(self, token: int) -> bytes: ...


class _CodecFactory(Protocol):
    def __call__(self, vocab: Vocab, metadata: Metadata) -> _Codec: ...


#: ``tokenizer.ggml.model`` -> codec. None: the model takes token ids only.
_CODECS: dict[str, _CodecFactory | None] = {
    "gpt2": BpeCodec,
    "llama": SpmCodec,
    "bert": WordPieceCodec,
    "t5": UnigramCodec,
    "none": None,
    "no_vocab": None,
}

_SPECIAL_TYPES = (TokenType.UNKNOWN, TokenType.CONTROL, TokenType.USER_DEFINED)


class Tokenizer:
    """Converts between text and token ids; immutable, so any thread may use it."""

    def __init__(self, vocab: Vocab, metadata: Metadata) -> None:
        if vocab.model not in _CODECS:
            known = ", ".join(_CODECS)
            raise UnsupportedError(
                f"the tokenizer {vocab.model!r} (tokenizer.ggml.model) is not supported; "
                f"supported are: {known}"
            )
        self.vocab = vocab
        factory = _CODECS[vocab.model]
        self._codec = factory(vocab, metadata) if factory else None
        name = _keys.get_str(metadata, "general.name") or ""
        self._splitter = SpecialSplitter(vocab, name)
        self._special_ids = frozenset(vocab.ids_of_types(*_SPECIAL_TYPES))
        # User-defined tokens are text of their own; only these vanish with skip_special.
        self._hidden_ids = frozenset(vocab.ids_of_types(TokenType.UNKNOWN, TokenType.CONTROL))

    @classmethod
    def from_metadata(cls, metadata: Metadata, *, pre: str | None = None) -> Tokenizer:
        """Builds the tokenizer a GGUF file describes; ``pre`` overrides ``tokenizer.ggml.pre``.

        Raises FileFormatError (damaged vocabulary; names the key) and UnsupportedError (unknown
        tokenizer or pre-tokenizer; names what is known).
        """
        return cls(Vocab.from_metadata(metadata, pre=pre), metadata)

    @property
    def n_vocab(self) -> int:
        """Number of tokens."""
        return len(self.vocab)

    @property
    def bos_id(self) -> int | None:
        """The token that begins a text."""
        return self.vocab.bos_id

    @property
    def eos_id(self) -> int | None:
        """The token that ends a text."""
        return self.vocab.eos_id

    @property
    def eog_ids(self) -> frozenset[int]:
        """All tokens that end a generation."""
        return self.vocab.eog_ids

    @property
    def prefix_space(self) -> bool:
        """Whether text gets a space put in front, which decoding takes away again."""
        return self._codec is not None and self._codec.prefix_space

    def encode(
        self, text: str, *, add_special: bool = False, parse_special: bool = True
    ) -> list[int]:
        """Token ids of a text.

        ``add_special``: put the tokens around it that the model wants (BOS, EOS, SEP); a text that
        already begins with BOS gets no second one. ``parse_special``: the text of a control token
        becomes that token; otherwise it is ordinary text. User-defined tokens are found always.

        Raises InvalidArgumentError for lone surrogates, UnsupportedError without a tokenizer.
        """
        return self.encode_segments([(text, parse_special)], add_special=add_special)

    def encode_segments(
        self, segments: Sequence[Segment], *, add_special: bool = False
    ) -> list[int]:
        """Token ids of the joined text of ``(text, trusted)`` segments.

        A control token is recognised only where all of its text is trusted; apart from that the
        seams between segments leave no trace in the ids.
        """
        codec = self._codec
        if codec is None:
            raise UnsupportedError(
                f"this model has no tokenizer ({self.vocab.model!r}): pass token ids, not text"
            )
        ids: list[int] = []
        at_start = True
        for fragment in self._splitter.split(segments):
            if fragment.token is not None:
                ids.append(fragment.token)
            else:
                _check_encodable(fragment.text)
                ids += codec.encode(fragment.text, at_start=at_start)
            at_start = fragment.token is not None
        return self._with_special(ids) if add_special else ids

    def _with_special(self, ids: list[int]) -> list[int]:
        vocab = self.vocab
        if vocab.add_bos and vocab.bos_id is not None and ids[:1] != [vocab.bos_id]:
            ids = [vocab.bos_id, *ids]
        if vocab.add_sep and vocab.sep_id is not None:
            ids = [*ids, vocab.sep_id]
        elif vocab.add_eos and vocab.eos_id is not None:
            ids = [*ids, vocab.eos_id]
        return ids

    def decode(
        self, ids: Iterable[int], *, skip_special: bool = False, at_start: bool = True
    ) -> str:
        """Text of token ids; bytes that are not UTF-8 become U+FFFD.

        ``skip_special`` leaves control and unknown tokens out. ``at_start``: the ids begin a text,
        so the space that encoding put in front is dropped; False for ids that continue one.
        """
        strip = at_start and self.prefix_space
        parts = []
        for token in ids:
            if skip_special and token in self._hidden_ids:
                continue
            data = self.token_bytes(token)
            if strip and token not in self._special_ids:
                data = data.removeprefix(b" ")
                strip = False
            parts.append(data)
        return b"".join(parts).decode("utf-8", "replace")

    def token_bytes(self, token: int) -> bytes:
        """Raw bytes that one token stands for; not always whole characters.

        Raises InvalidArgumentError if the id is outside the vocabulary.
        """
        token = self._checked(token)
        if token in self._special_ids or self._codec is None:
            return self.vocab.tokens[token].encode()
        return self._codec.token_bytes(token)

    def token_text(self, token: int) -> str:
        """A token as the vocabulary spells it."""
        return self.vocab.tokens[self._checked(token)]

    def is_hidden(self, token: int) -> bool:
        """Whether a token is a control or unknown token, left out under ``skip_special``."""
        return token in self._hidden_ids

    def is_special(self, token: int) -> bool:
        """Whether a token is a control, unknown or user-defined token."""
        return token in self._special_ids

    def _checked(self, token: int) -> int:
        try:
            index = operator.index(token)
        except TypeError:
            raise InvalidArgumentError(f"a token id must be an integer, not {token!r}") from None
        if not 0 <= index < len(self.vocab):
            raise InvalidArgumentError(
                f"token id {index} is outside the vocabulary of {len(self.vocab)} tokens"
            )
        return index


def _check_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"the text holds a lone surrogate (U+{ord(text[error.start]):04X}), "
            "which is not a character"
        ) from None
