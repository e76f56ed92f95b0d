"""Special tokens are cut out of a text before anything else looks at it, longest first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bactrian.text.vocab import TokenType, Vocab

#: Part of a text: untrusted parts never yield control tokens.
Segment = tuple[str, bool]


@dataclass(frozen=True)
class Fragment:
    """A special token (``token`` set) or a stretch of ordinary text."""

    text: str
    token: int | None = None


class SpecialSplitter:
    """Finds the special tokens of a vocabulary in a text.

    Control and unknown tokens count only inside trusted text, user-defined tokens everywhere.
    Of overlapping matches the longest wins, then the leftmost: the same as splitting the text by
    each token in turn, longest token first.
    """

    def __init__(self, vocab: Vocab, model_name: str) -> None:
        guarded = vocab.ids_of_types(TokenType.CONTROL, TokenType.UNKNOWN)
        always = vocab.ids_of_types(TokenType.USER_DEFINED)
        ids = [i for i in (*guarded, *always) if vocab.tokens[i]]
        self._id_of = {vocab.tokens[i]: i for i in reversed(ids)}
        self._guarded = frozenset(guarded)
        self._strip_right = _strips_right(vocab, model_name)
        # Lengths to try, by the first two characters: few, whatever the number of tokens.
        lengths: dict[str, set[int]] = defaultdict(set)
        for text in self._id_of:
            lengths[text[:2]].add(len(text))
        self._lengths = {head: sorted(found) for head, found in lengths.items()}
        heads = sorted({re.escape(head[0]) for head in lengths})
        self._head = re.compile(f"[{''.join(heads)}]") if heads else None

    def split(self, segments: Sequence[Segment]) -> list[Fragment]:
        """Fragments of the joined text, in order, none empty.

        A control token counts only if all of it lies in trusted text.
        """
        text = "".join(part for part, _ in segments)
        matches = sorted(
            self._matches(text, _untrusted_mask(segments)), key=lambda m: (-m[1], m[0])
        )
        taken = bytearray(len(text))
        chosen = []
        for start, length, token in matches:
            if taken.find(1, start, start + length) < 0:
                taken[start : start + length] = b"\1" * length
                chosen.append((start, length, token))
        fragments = []
        end = 0
        for start, length, token in sorted(chosen):
            if start > end:
                fragments.append(Fragment(text[end:start]))
            fragments.append(Fragment(text[start : start + length], token))
            end = start + length
            if token in self._strip_right:
                end = len(text) - len(text[end:].lstrip())
        if end < len(text):
            fragments.append(Fragment(text[end:]))
        return fragments

    def _matches(self, text: str, untrusted: bytearray) -> Iterator[tuple[int, int, int]]:
        if self._head is None:
            return
        for hit in self._head.finditer(text):
            start = hit.start()
            heads = {text[start], text[start : start + 2]}
            for length in (n for head in heads for n in self._lengths.get(head, ())):
                token = self._id_of.get(text[start : start + length])
                if token is None or start + length > len(text):
                    continue
                if token in self._guarded and untrusted.find(1, start, start + length) >= 0:
                    continue
                yield start, length, token


def _untrusted_mask(segments: Sequence[Segment]) -> bytearray:
    mask = bytearray()
    for part, trusted in segments:
        mask += bytes(len(part)) if trusted else b"\1" * len(part)
    return mask


def _strips_right(vocab: Vocab, model_name: str) -> frozenset[int]:
    """Tokens that swallow the white space after them. Files don't say so; Phi-3 is known to."""
    name = model_name.lower()
    if "phi-3" not in name and "phi3" not in name:
        return frozenset()
    kept = {"<unk>", "<s>", "<|endoftext|>"}
    kinds = (TokenType.CONTROL, TokenType.UNKNOWN, TokenType.USER_DEFINED)
    return frozenset(i for i in vocab.ids_of_types(*kinds) if vocab.tokens[i] not in kept)
