"""Byte-level byte-pair encoding (``tokenizer.ggml.model`` = ``gpt2``)."""

from __future__ import annotations

from typing import Any

from bactrian.errors import FileFormatError, InvalidArgumentError
from bactrian.text import _keys
from bactrian.text._keys import Metadata
from bactrian.text.pretokenizers import pre_tokenizer
from bactrian.text.vocab import TokenType, Vocab


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's bijection between printable characters and bytes.

    Printable Latin-1 characters stand for themselves; the other bytes, in order, for the
    characters from U+0100 on.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    alphabet = {chr(byte): byte for byte in plain}
    alphabet.update({chr(0x100 + n): byte for n, byte in enumerate(others)})
    return alphabet


_BYTE_OF = _byte_alphabet()


class BpeCodec:
    """Ordinary text <-> ids of a byte-level BPE vocabulary, by the ``tokenizers`` library."""

    prefix_space = False

    def __init__(self, vocab: Vocab, metadata: Metadata) -> None:
        self._tokens = vocab.tokens
        # Some vocabularies lack bytes that are rare in UTF-8; the library would drop them unseen.
        self._lacking = frozenset(b for c, b in _BYTE_OF.items() if c not in vocab.id_of)
        self._tokenizer = _build(vocab, metadata)

    def encode(self, text: str, *, at_start: bool) -> list[int]:
        """Ids of ordinary text. InvalidArgumentError if the vocabulary lacks one of its bytes."""
        del at_start  # byte-level vocabularies treat all places alike
        if self._lacking and (missing := self._lacking.intersection(text.encode())):
            raise InvalidArgumentError(
                f"the vocabulary has no token for the byte 0x{min(missing):02X}, "
                "so it can't express every character of the text"
            )
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def token_bytes(self, token: int) -> bytes:
        """Bytes that an ordinary token stands for."""
        text = self._tokens[token]
        try:
            return bytes([_BYTE_OF[c] for c in text])
        except KeyError:
            return text.encode()


def _build(vocab: Vocab, metadata: Metadata) -> Any:  # noqa: ANN401 (tokenizers has no stubs)
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

    rule = pre_tokenizer(vocab.pre)
    merges = _merges(vocab, metadata)
    # Control tokens are cut out beforehand; kept here they could come from plain text.
    special = vocab.ids_of_types(TokenType.CONTROL, TokenType.UNKNOWN, TokenType.USER_DEFINED)
    made_by_merges = {text for left, right in merges for text in (left, right, left + right)}
    unreachable = {vocab.tokens[i] for i in special} - made_by_merges - _BYTE_OF.keys()
    pieces = {text: i for text, i in vocab.id_of.items() if text not in unreachable}
    try:
        model = BPE(vocab=pieces, merges=merges, ignore_merges=rule.ignore_merges)
    except Exception as error:  # the library raises bare Exception
        raise FileFormatError(f"tokenizer.ggml.merges: {error}") from error
    tokenizer = Tokenizer(model)
    splits = [Split(Regex(pattern), behavior="isolated") for pattern in rule.patterns]
    tokenizer.pre_tokenizer = Sequence(
        [*splits, ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return tokenizer


def _merges(vocab: Vocab, metadata: Metadata) -> list[tuple[str, str]]:
    key = "tokenizer.ggml.merges"
    entries = _keys.get_strings(metadata, key)
    if entries is None:
        raise FileFormatError(f"{key} is missing: a 'gpt2' tokenizer needs it")
    merges = []
    for n, entry in enumerate(entries):
        # The first part may itself begin with a space.
        cut = entry.find(" ", 1)
        left, right = entry[:cut], entry[cut + 1 :]
        if cut < 0 or not right:
            raise FileFormatError(f"{key}: entry {n} is {entry[:80]!r}, not two parts")
        for text in (left, right, left + right):
            if text not in vocab.id_of:
                raise FileFormatError(f"{key}: entry {n} needs {text[:80]!r}, which is no token")
        merges.append((left, right))
    return merges
