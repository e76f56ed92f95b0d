"""Finds many fixed texts in a long one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator


class TextFinder:
    """Occurrences of any of the given texts in another.

    Which texts occur at all is found first, by searches that the interpreter does at the speed of
    memory: next to none of a vocabulary's special tokens occur in a given prompt.
    """

    def __init__(self, texts: Collection[str]) -> None:
        by_head: dict[str, list[str]] = defaultdict(list)
        for text in texts:
            if text:
                by_head[text[:2]].append(text)
        self._by_head = dict(by_head)

    def present(self, text: str) -> list[str]:
        """The texts that occur, longest first."""
        heads = (texts for head, texts in self._by_head.items() if head in text)
        return sorted((t for texts in heads for t in texts if t in text), key=len, reverse=True)

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """Start and text of every occurrence, overlapping ones too, in no particular order."""
        for wanted in self.present(text):
            start = text.find(wanted)
            while start >= 0:
                yield start, wanted
                start = text.find(wanted, start + 1)
