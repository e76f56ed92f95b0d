"""One sequence on its way through the engine: its tokens, its sampler, its text."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bactrian._core import Sampler
from bactrian.engine.request import Request, Timings
from bactrian.engine.scheduler import Entry
from bactrian.engine.text_stream import TextStream


@dataclass(slots=True, eq=False)
class Sequence:
    """The state of one answer of one request.

    ``slot`` is the sequence's number in the context, None while it waits for pages. ``siblings``
    are further answers to the same prompt that fork off when it is evaluated.
    """

    request: Request
    index: int
    order: int
    sampler: Sampler
    text: TextStream
    tokens: list[int]
    n_cached: int = 0
    slot: int | None = None
    siblings: list[Sequence] = field(default_factory=list)
    shared_tail: bool = False
    n_reused: int = 0
    started: float | None = None
    first_token: float | None = None

    @property
    def n_generated(self) -> int:
        """Tokens drawn so far."""
        return len(self.tokens) - len(self.request.prompt)

    def entry(self) -> Entry:
        """What the scheduler sees."""
        return Entry(
            order=self.order,
            priority=self.request.priority,
            n_tokens=len(self.tokens),
            n_cached=self.n_cached,
            n_answers=1 + len(self.siblings),
            shared_tail=self.shared_tail,
        )

    def next_tokens(self, n: int) -> NDArray[np.int32]:
        """The next ``n`` tokens to evaluate."""
        return np.array(self.tokens[self.n_cached : self.n_cached + n], dtype=np.int32)

    def timings(self, now: float) -> Timings:
        """Figures up to ``now``."""
        started = now if self.started is None else self.started
        first = now if self.first_token is None else self.first_token
        return Timings(
            n_prompt=len(self.request.prompt),
            n_cached=self.n_reused,
            n_generated=self.n_generated,
            prompt_seconds=first - started,
            generation_seconds=now - first,
        )
