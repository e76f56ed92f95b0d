"""What a generation gives back, and how it is put together from the engine's events."""

from __future__ import annotations

from dataclasses import dataclass

from bactrian.engine.request import Event, FinishReason, Request, Timings, TokenLogprobs
from bactrian.errors import BactrianError


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer to a prompt.

    Attributes:
        text: the answer, without stop string and end token.
        tokens: every token drawn, the end token and those of a stop string included.
        finish_reason: "stop", "length" or "error".
        seed: the seed its random numbers came from; the same seed gives the same answer.
        timings: counts and seconds.
        stop_string: the stop string that ended it.
        truncated: it reached the end of the context.
        error: what went wrong, with finish_reason "error"; the text so far is kept.
        logprobs: one entry per token if the parameters asked for them, else empty.

    """

    text: str
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    seed: int
    timings: Timings
    stop_string: str | None = None
    truncated: bool = False
    error: BactrianError | None = None
    logprobs: tuple[TokenLogprobs, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerationOutput:
    """All answers to one prompt: ``SamplingParams.n`` of them, in order."""

    prompt_tokens: tuple[int, ...]
    completions: tuple[Completion, ...]

    @property
    def text(self) -> str:
        """The text of the first answer."""
        return self.completions[0].text

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of all answers."""
        return tuple(c.text for c in self.completions)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens of the first answer."""
        return self.completions[0].tokens

    @property
    def finish_reason(self) -> FinishReason:
        """How the first answer ended."""
        return self.completions[0].finish_reason

    @property
    def timings(self) -> Timings:
        """Counts and seconds of the first answer."""
        return self.completions[0].timings


class Collector:
    """Joins the events of one request into its output."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._events: list[list[Event]] = [[] for _ in range(request.params.n)]

    def add(self, event: Event) -> None:
        """Takes the next event of this request."""
        self._events[event.index].append(event)

    @property
    def complete(self) -> bool:
        """Whether every answer has ended."""
        return all(events and events[-1].finish is not None for events in self._events)

    def output(self) -> GenerationOutput:
        """The whole output, once complete."""
        completions = tuple(_completion(events) for events in self._events)
        return GenerationOutput(self._request.prompt, completions)


def _completion(events: list[Event]) -> Completion:
    finish = events[-1].finish
    assert finish is not None  # noqa: S101  (asked for only when complete)
    return Completion(
        text="".join(e.text for e in events),
        tokens=tuple(token for e in events for token in e.tokens),
        finish_reason=finish.reason,
        seed=finish.seed,
        timings=finish.timings,
        stop_string=finish.stop_string,
        truncated=finish.truncated,
        error=finish.error,
        logprobs=tuple(entry for e in events for entry in e.logprobs),
    )
