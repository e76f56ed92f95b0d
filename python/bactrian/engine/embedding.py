"""The embedding lane: whole inputs, packed into steps of a token budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bactrian import _core
from bactrian.engine.engine import STEP_TOKENS

Pooling = Literal["none", "mean", "cls", "last"]


def pack(lengths: Sequence[int], step_tokens: int = STEP_TOKENS) -> Iterator[range]:
    """Cuts inputs into runs of at most ``step_tokens`` tokens; a longer input makes its own run."""
    start, n_tokens = 0, 0
    for i, length in enumerate(lengths):
        if i > start and n_tokens + length > step_tokens:
            yield range(start, i)
            start, n_tokens = i, 0
        n_tokens += length
    if start < len(lengths):
        yield range(start, len(lengths))


def embed(
    context: _core.Context, inputs: Sequence[Sequence[int]], pooling: Pooling
) -> Iterator[NDArray[np.float32]]:
    """The vector [n_embd] of each input in order, or [n_tokens, n_embd] with pooling none."""
    for run in pack([len(tokens) for tokens in inputs]):
        batch = _core.Batch(embedding=True, pooling=pooling)
        for i in run:
            batch.add_input(inputs[i])
        yield from context.decode(batch).embeddings
