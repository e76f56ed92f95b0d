"""Small vocabularies learned from a text, with the metadata that GGUF files carry for them.

Two kinds: byte-level BPE (``gpt2``, pre-tokenizer ``smollm``) and SentencePiece BPE (``llama``).
Both hold every byte, so that any text can be encoded, and the two ChatML marks.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from gguf import GGUFWriter, TokenType

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

Merge = tuple[str, str]

# The split of GPT-2 for ASCII text; ``smollm`` cuts out single digits before it.
_WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
_DIGITS = re.compile(r"([0-9])")


@dataclass(frozen=True)
class Vocabulary:
    """Tokens by id, and what the keys ``tokenizer.*`` say of them."""

    model: str  # "gpt2" or "llama"
    tokens: list[str]
    types: list[TokenType]
    bos_id: int
    eos_id: int
    unk_id: int
    merges: list[Merge] = field(default_factory=list)  # gpt2 only
    scores: list[float] = field(default_factory=list)  # llama only

    def write(self, writer: GGUFWriter) -> None:
        """Adds all keys ``tokenizer.*`` to a file."""
        writer.add_tokenizer_model(self.model)
        writer.add_token_list(self.tokens)
        writer.add_token_types(self.types)
        if self.model == "gpt2":
            writer.add_tokenizer_pre("smollm")
            writer.add_token_merges([" ".join(merge) for merge in self.merges])
        else:
            writer.add_token_scores(self.scores)
        writer.add_bos_token_id(self.bos_id)
        writer.add_eos_token_id(self.eos_id)
        writer.add_eot_token_id(self.tokens.index("<|im_end|>"))
        writer.add_unk_token_id(self.unk_id)
        writer.add_add_bos_token(self.model == "llama")
        writer.add_add_space_prefix(self.model == "llama")
        writer.add_chat_template(CHAT_TEMPLATE)


def bpe_vocabulary(text: str, n_tokens: int) -> Vocabulary:
    """Byte-level BPE: three control tokens, 256 bytes, and merges up to ``n_tokens``.

    Raises ValueError if ``text`` is not ASCII or too small for so many merges.
    """
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    symbols = _byte_symbols()
    n_merges = n_tokens - len(control) - len(symbols)
    merges = _learn_merges(Counter(tuple(_to_symbols(w)) for w in split_words(text)), n_merges)
    return Vocabulary(
        model="gpt2",
        tokens=control + symbols + [a + b for a, b in merges],
        types=[TokenType.CONTROL] * len(control) + [TokenType.NORMAL] * (n_tokens - len(control)),
        bos_id=1,
        eos_id=2,
        unk_id=0,
        merges=merges,
    )


def spm_vocabulary(text: str, n_tokens: int) -> Vocabulary:
    """SentencePiece BPE: five control tokens, 256 byte tokens, characters and merged pieces.

    Raises ValueError if ``text`` is too small for so many pieces.
    """
    control = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    words = Counter(tuple("\u2581" + word) for word in text.split())
    characters = sorted({character for word in words for character in word})
    n_merges = n_tokens - len(control) - len(byte_tokens) - len(characters)
    pieces = [a + b for a, b in _learn_merges(words, n_merges)] + characters
    types = [TokenType.UNKNOWN] + [TokenType.CONTROL] * (len(control) - 1)
    types += [TokenType.BYTE] * len(byte_tokens) + [TokenType.NORMAL] * len(pieces)
    unscored = len(control) + len(byte_tokens)
    return Vocabulary(
        model="llama",
        tokens=control + byte_tokens + pieces,
        types=types,
        bos_id=1,
        eos_id=2,
        unk_id=0,
        scores=[0.0] * unscored + [-float(rank) for rank in range(len(pieces))],
    )


class BpeEncoder:
    """Token ids of ASCII text; control tokens are looked up, never parsed from text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = {token: i for i, token in enumerate(vocabulary.tokens)}
        self._ranks = {merge: rank for rank, merge in enumerate(vocabulary.merges)}

    def control(self, token: str) -> int:
        """Id of a control token."""
        return self._ids[token]

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; raises ValueError if it is not ASCII."""
        return [self._ids[symbol] for word in split_words(text) for symbol in self._merge(word)]

    def _merge(self, word: str) -> list[str]:
        symbols = _to_symbols(word)
        while len(symbols) > 1:
            best = min(pairwise(symbols), key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            symbols = _apply(best, symbols)
        return symbols


def split_words(text: str) -> list[str]:
    """The pieces that merges never cross; raises ValueError if ``text`` is not ASCII."""
    if not text.isascii():
        raise ValueError("the text of a vocabulary must be ASCII")
    words: list[str] = []
    for part in _DIGITS.split(text):
        words += [part] if _DIGITS.fullmatch(part) else _WORDS.findall(part)
    return words


@lru_cache(maxsize=1)
def _byte_symbols() -> list[str]:
    # GPT-2's printable stand-in for each byte: itself, or the next free character from U+0100.
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(spare)) for byte in range(256)]


def _to_symbols(word: str) -> list[str]:
    return [_byte_symbols()[byte] for byte in word.encode()]


def _apply(merge: Merge, symbols: list[str]) -> list[str]:
    out: list[str] = []
    for symbol in symbols:
        # A symbol merged just now must not merge again: it is longer than the merge's first half.
        if out and (out[-1], symbol) == merge:
            out[-1] += symbol
        else:
            out.append(symbol)
    return out


def _learn_merges(words: Counter[tuple[str, ...]], n_merges: int) -> list[Merge]:
    # Most frequent pair first; ties go to the pair that sorts first, so that runs agree.
    merges: list[Merge] = []
    while len(merges) < n_merges:
        pairs: Counter[Merge] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                pairs[pair] += count
        if not pairs:
            raise ValueError(f"the text yields {len(merges)} merges, {n_merges} are wanted")
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        merged: Counter[tuple[str, ...]] = Counter()
        for word, count in words.items():
            merged[tuple(_apply(best, list(word)))] += count
        words = merged
    return merges
