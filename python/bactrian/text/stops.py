"""Stop strings: found in the joined text, never shown, not even in part."""

from __future__ import annotations

import re
from collections.abc import Collection

from bactrian.errors import InvalidArgumentError


class StopChecker:
    """Watches a stream of text for stop strings.

    Text that may yet turn out to begin a stop string is held back. The match that begins earliest
    wins; of those, the longest that is complete. Empty stop strings are ignored.
    """

    def __init__(self, stops: str | Collection[str] | None) -> None:
        """``stops``: one string, several, or None. InvalidArgumentError for anything else."""
        given = [stops] if isinstance(stops, str) else stops or ()
        if not isinstance(given, Collection) or not all(isinstance(stop, str) for stop in given):
            raise InvalidArgumentError("stop must be a string or a list of strings")
        unique = sorted({stop for stop in given if stop}, key=len, reverse=True)
        self._stops = unique
        self._pattern = re.compile("|".join(map(re.escape, unique))) if unique else None
        self._heads = {stop[0] for stop in unique}
        self._longest = len(unique[0]) if unique else 0
        self._held = ""
        self.matched: str | None = None

    def push(self, text: str) -> tuple[str, bool]:
        """Text that may be shown now, and whether a stop string was found.

        After a match nothing more is shown; ``matched`` is the string found.
        """
        if self.matched is not None:
            return "", True
        if self._pattern is None:
            return text, False
        self._held += text
        match = self._pattern.search(self._held)
        end = match.start() if match else len(self._held)
        # An earlier, still unfinished match would win: wait for it.
        pending = self._pending(end)
        if match and pending == end:
            self.matched = match.group()
            shown, self._held = self._held[:end], ""
            return shown, True
        shown, self._held = self._held[:pending], self._held[pending:]
        return shown, False

    def flush(self) -> str:
        """Ends the stream: what was held back and is shown after all.

        A complete match that waited for an earlier one still counts: see ``matched``.
        """
        held, self._held = self._held, ""
        if self.matched is not None or self._pattern is None:
            return ""
        match = self._pattern.search(held)
        if match:
            self.matched = match.group()
            return held[: match.start()]
        return held

    def _pending(self, end: int) -> int:
        """Where before ``end`` an unfinished stop string may begin; ``end`` if nowhere."""
        for start in range(max(0, len(self._held) - self._longest + 1), end):
            if self._held[start] not in self._heads:
                continue
            length = len(self._held) - start
            tail = self._held[start:]
            if any(len(stop) > length and stop.startswith(tail) for stop in self._stops):
                return start
        return end
