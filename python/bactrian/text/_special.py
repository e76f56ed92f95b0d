"""Special tokens are cut out of a text before anything else looks at it, longest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bactrian.text._finder import TextFinder
from bactrian.text.vocab import TokenType, Vocab

#: Part of a text and whether it is trusted: other parts never yield control tokens.
Segment = tuple[str, bool]


@dataclass(frozen=True)
class Fragment:
    """A special token (``token`` set) or a stretch of ordinary text."""

    text: str
    token: int | None = None


class SpecialSplitter:
    """Finds the special tokens of a vocabulary in a text.

    Control and unknown tokens count only inside trusted text, user-defined tokens everywhere.
    The text is split by each token in turn, longest token first.
    """

    def __init__(self, vocab: Vocab, model_name: str) -> None:
        guarded = vocab.ids_of_types(TokenType.CONTROL, TokenType.UNKNOWN)
        always = vocab.ids_of_types(TokenType.USER_DEFINED)
        self._id_of = {vocab.tokens[i]: i for i in reversed((*guarded, *always))}
        self._finder = TextFinder(self._id_of)
        self._guarded = frozenset(guarded)
        self._strip_right = _strips_right(vocab, model_name)

    def split(self, segments: Sequence[Segment]) -> list[Fragment]:
        """Fragments of the joined text, in order, none empty.

        A control token counts only if all of it lies in trusted text.
        """
        text = "".join(part for part, _ in segments)
        fragments = []
        end = 0
        for start, found in self._chosen(text, _untrusted_mask(segments)):
            if start > end:
                fragments.append(Fragment(text[end:start]))
            token = self._id_of[found]
            fragments.append(Fragment(found, token))
            end = start + len(found)
            if token in self._strip_right:
                end = len(text) - len(text[end:].lstrip())
        if end < len(text):
            fragments.append(Fragment(text[end:]))
        return fragments

    def _chosen(self, text: str, untrusted: bytearray) -> list[tuple[int, str]]:
        """Start and text of each special token, from left to right."""
        chosen = []
        gaps = [(0, len(text))]
        for wanted in self._finder.present(text):
            guarded = self._id_of[wanted] in self._guarded
            remaining = []
            for begin, end in gaps:
                start = text.find(wanted, begin, end)
                while start >= 0:
                    after = start + len(wanted)
                    if guarded and untrusted.find(1, start, after) >= 0:
                        start = text.find(wanted, start + 1, end)
                        continue
                    chosen.append((start, wanted))
                    if begin < start:
                        remaining.append((begin, start))
                    begin = after
                    start = text.find(wanted, begin, end)
                if begin < end:
                    remaining.append((begin, end))
            gaps = remaining
        return sorted(chosen)


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
