"""Draws for all rows of a step at once, each from its own sampler."""

from __future__ import annotations

from collections.abc import Sequence as Rows
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bactrian import _core
from bactrian.engine.request import Request, TokenLogprobs
from bactrian.engine.sequence import Sequence
from bactrian.model import Model
from bactrian.params import RANDOM_SEED


@dataclass(frozen=True, slots=True)
class Drawn:
    """A token (-1: its row of logits was unusable) and, if asked for, its log-probabilities."""

    token: int
    logprobs: TokenLogprobs | None = None


def new_samplers(model: Model, request: Request) -> list[_core.Sampler]:
    """One sampler for each answer, with seeds that follow one another; the prompt is their past."""
    samplers: list[_core.Sampler] = []
    for index in range(request.params.n):
        params = request.params
        if samplers:
            params = params.with_changes(seed=(samplers[0].seed + index) % RANDOM_SEED)
        sampler = model.sampler(params)
        sampler.accept(np.array(request.prompt, dtype=np.int32))
        samplers.append(sampler)
    return samplers


def draw(drawing: Rows[tuple[Sequence, int]], logits: NDArray[np.float32]) -> list[Drawn]:
    """One token for each (sequence, row of ``logits`` [n_rows, n_vocab]), in that order."""
    rows = [row for _, row in drawing]
    if rows != list(range(len(logits))):
        logits = logits[rows]
    tokens = _core.sample_rows([s.sampler for s, _ in drawing], logits)
    drawn = [Drawn(int(token)) for token in tokens]
    asked = [
        i
        for i, (sequence, _) in enumerate(drawing)
        if sequence.request.params.logprobs is not None and tokens[i] >= 0
    ]
    if asked:
        n_tops = [drawing[i][0].request.params.logprobs or 0 for i in asked]
        ids, values, own = _core.log_probabilities(
            np.ascontiguousarray(logits[asked]), max(n_tops), tokens[asked]
        )
        for k, (i, n_top) in enumerate(zip(asked, n_tops, strict=True)):
            top = tuple(zip(ids[k, :n_top].tolist(), values[k, :n_top].tolist(), strict=True))
            drawn[i] = Drawn(drawn[i].token, TokenLogprobs(drawn[i].token, float(own[k]), top))
    return drawn
