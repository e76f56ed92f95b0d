"""Finds many fixed texts in a long one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator


class TextFinder:
    """All occurrences, overlapping ones too, of any of the given texts.

    The work per character depends on how many lengths share two first characters, hardly on the
    number of texts, which comes from a model file.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(texts) - {""}
        lengths: dict[str, set[int]] = defaultdict(set)
        for text in self._texts:
            lengths[text[:2]].add(len(text))
        self._lengths = {head: sorted(found) for head, found in lengths.items()}
        heads = sorted({re.escape(head[0]) for head in lengths})
        self._head = re.compile(f"[{''.join(heads)}]") if heads else None

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """Pairs of start and text found, by rising start and length."""
        if self._head is None:
            return
        for hit in self._head.finditer(text):
            start = hit.start()
            for head in (text[start], text[start : start + 2]):
                for length in self._lengths.get(head, ()):
                    candidate = text[start : start + length]
                    if len(candidate) == length and candidate in self._texts:
                        yield start, candidate
                if start + 1 >= len(text):
                    break  # both heads are the same
