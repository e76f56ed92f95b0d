"""The text of one answer as its tokens come: whole characters, nothing of a stop string."""

from __future__ import annotations

from bactrian.params import SamplingParams
from bactrian.text.detokenizer import Detokenizer
from bactrian.text.stops import StopChecker
from bactrian.text.tokenizer import Tokenizer


class TextStream:
    """Detokenizer and stop strings of one answer."""

    def __init__(self, tokenizer: Tokenizer, params: SamplingParams) -> None:
        self._detokenizer = Detokenizer(tokenizer, skip_special=not params.show_special)
        self._stops = StopChecker(params.stop)

    @property
    def stop_string(self) -> str | None:
        """The stop string that was found; the text ends before it."""
        return self._stops.matched

    def push(self, token: int) -> str:
        """Text that may be shown after this token."""
        return self._stops.push(self._detokenizer.push(token))[0]

    def finish(self) -> str:
        """Text that was held back and is shown after all, for there is no more to come."""
        shown, _ = self._stops.push(self._detokenizer.finish())
        return shown + self._stops.flush()
