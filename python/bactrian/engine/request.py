"""What goes into the engine and what comes out: plain data, nothing that computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bactrian.errors import BactrianError
from bactrian.params import SamplingParams

FinishReason = Literal["stop", "length", "error"]


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt to continue. ``priority``: higher goes first."""

    id: int
    prompt: tuple[int, ...]
    params: SamplingParams
    priority: int = 0


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Log-probabilities at one position, from the plain softmax before the sampler chain.

    ``top``: (token, log-probability) of the likeliest tokens, falling.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time of one answer went, in seconds.

    ``n_cached`` of the ``n_prompt`` tokens were found in the cache. The first token of an answer
    comes out of the prompt, so ``n_generated`` tokens take ``n_generated - 1`` decoding steps.
    """

    n_prompt: int
    n_cached: int
    n_generated: int
    prompt_seconds: float
    generation_seconds: float

    @property
    def prompt_per_second(self) -> float:
        """Prompt tokens evaluated per second; 0 if nothing was."""
        return _rate(self.n_prompt - self.n_cached, self.prompt_seconds)

    @property
    def generated_per_second(self) -> float:
        """Decoding steps per second; 0 if there were none."""
        return _rate(self.n_generated - 1, self.generation_seconds)


def _rate(n: int, seconds: float) -> float:
    return n / seconds if n > 0 and seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Finish:
    """How an answer ended.

    ``reason``: "stop" (end token or ``stop_string``), "length" (``max_tokens``, or the end of the
    context: then ``truncated``), "error" (then ``error``).
    """

    reason: FinishReason
    seed: int
    timings: Timings
    stop_string: str | None = None
    truncated: bool = False
    error: BactrianError | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """News of one answer. Joined in order, ``text`` and ``tokens`` give the whole answer.

    ``text`` lags behind ``tokens`` while it may be part of a character or of a stop string. Tokens
    of a stop string and the end token count as generated; their text is not part of the answer.
    """

    request_id: int
    index: int
    text: str = ""
    tokens: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] = ()
    finish: Finish | None = None
