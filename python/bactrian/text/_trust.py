"""Which parts of a rendered prompt the template wrote, and which come from the messages.

Text of control tokens counts as such only where the template wrote it. To tell, the messages are
rendered again with marks in them: characters for private use that occur neither in the messages nor
in the template. Two ways, the second for templates that take texts apart:

1. *Enclosed.* Every free text is enclosed between two marks (inside its outer white space, so that
   trimming does the same as ever). If the result without its marks is the plain prompt and the
   marks still come in pairs, all that lies between them is untrusted.
2. *Masked.* The first character of every control token's text in the messages is replaced by a
   mark, one for one. The result, with these characters put back as untrusted, is the prompt: the
   template has worked on texts that contain no control tokens, which is what they mean. Should it
   have put together a control token out of pieces, there are more of it than in a rendering of the
   same messages with all their visible characters replaced; that prompt is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from bactrian.errors import InvalidArgumentError
from bactrian.text._finder import TextFinder

Segments = list[tuple[str, bool]]
_Change = Callable[[str], str]

#: Fields that carry free text; strings elsewhere are compared by templates, so only masked.
_FREE_TEXT = frozenset({"content", "reasoning_content", "thinking", "reasoning", "text", "title"})


class Marking:
    """Puts marks into the variables of a template and reads them from what it renders.

    ``variables``: JSON data from outside. ``control``: finds the texts of control tokens.
    """

    def __init__(self, source: str, variables: dict[str, Any], control: TextFinder) -> None:
        strings = list(_strings(variables))
        heads = sorted({found[0] for text in strings for _, found in control.find(text)})
        self.marks = _unused_characters(4 + len(heads), source, *strings)
        self._control = control
        self._variables = variables
        self._open, self._close, self._blank, self.end, *masks = list(self.marks)
        self._mask_of = dict(zip(heads, masks, strict=True))
        self._head_of = dict(zip(masks, heads, strict=True))
        self._enclosing = re.compile(f"[{self._open}{self._close}]")
        self._masks = re.compile(f"([{''.join(masks)}])") if masks else None

    def enclosed(self) -> dict[str, Any]:
        """The variables with free texts enclosed and control tokens masked."""
        return self._changed(lambda text: self._enclose(self._mask(text)))

    def masked(self) -> dict[str, Any]:
        """The variables with control tokens masked."""
        return self._changed(self._mask)

    def blanked(self) -> dict[str, Any]:
        """The variables with visible characters of free texts replaced, control tokens masked."""
        return self._changed(lambda text: re.sub(r"\S", self._blank, text))

    def read_enclosed(self, text: str, plain: str) -> Segments | None:
        """Segments of ``plain`` according to its enclosed rendering; None if it can't be told."""
        found = self._enclosing.findall(text)
        if found != [self._open, self._close] * (len(found) // 2):
            return None
        segments: Segments = []
        for n, piece in enumerate(self._enclosing.split(text)):
            segments += self._unmasked(piece, trusted=n % 2 == 0)
        return segments if "".join(part for part, _ in segments) == plain else None

    def read_masked(self, text: str, blanked: str) -> Segments:
        """Segments of a masked rendering.

        Raises InvalidArgumentError if the template made control tokens out of pieces of messages.
        """
        excess = self._count(text) - self._count(blanked)
        if excess:
            raise InvalidArgumentError(
                f"the messages make the chat template write the control token {min(excess)!r}, "
                "which only the template itself may do"
            )
        return self._unmasked(text, trusted=True)

    def _changed(self, free_text: _Change) -> dict[str, Any]:
        changed: dict[str, Any] = _changed(self._variables, free_text, self._mask)
        return changed

    def _enclose(self, text: str) -> str:
        inner = text.strip()
        if not inner:
            return text
        start = text.index(inner)
        end = start + len(inner)
        return text[:start] + self._open + inner + self._close + text[end:]

    def _mask(self, text: str) -> str:
        starts = {start for start, _ in self._control.find(text)}
        if not starts:
            return text
        return "".join(self._mask_of[c] if n in starts else c for n, c in enumerate(text))

    def _unmasked(self, text: str, *, trusted: bool) -> Segments:
        """Segments of a text, with masked characters put back as untrusted ones."""
        pieces = self._masks.split(text) if self._masks is not None else [text]
        restored = ((self._head_of.get(p, p), trusted and p not in self._head_of) for p in pieces)
        return [(part, trust) for part, trust in restored if part]

    def _count(self, text: str) -> Counter[str]:
        return Counter(found for _, found in self._control.find(text))


def _changed(value: Any, free_text: _Change, other: _Change, key: str = "") -> Any:  # noqa: ANN401
    """A copy of JSON data with its strings changed, those of free-text fields by ``free_text``."""
    if isinstance(value, str):
        if key == "role":
            return value
        return free_text(value) if key in _FREE_TEXT else other(value)
    if isinstance(value, dict):
        return {other(k): _changed(v, free_text, other, k) for k, v in value.items()}
    if isinstance(value, list):
        return [_changed(item, free_text, other, key) for item in value]
    return value


def _strings(value: Any) -> Iterable[str]:  # noqa: ANN401 (JSON)
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _unused_characters(n: int, *texts: str) -> str:
    """Characters for private use that occur in none of the texts."""
    used = set().union(*texts)
    free = [chr(code) for code in range(0xE000, 0xF900) if chr(code) not in used][:n]
    if len(free) < n:
        raise InvalidArgumentError("the messages use too many characters for private use")
    return "".join(free)
