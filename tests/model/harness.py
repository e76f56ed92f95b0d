"""Short forms that tests of the native engine share."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bactrian import _core

Logits = Literal["none", "last", "all"]
Array = NDArray[np.float32]


def random_tokens(seed: int, n_tokens: int, n_vocab: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, n_vocab, n_tokens).tolist()


def decode(context: _core.Context, *runs: tuple[int, list[int]], logits: Logits = "last") -> Array:
    """Logits of one token batch of (sequence, tokens)."""
    batch = _core.Batch()
    for sequence, tokens in runs:
        batch.add_tokens(sequence, tokens, logits=logits)
    return context.decode(batch).logits


def embed(context: _core.Context, inputs: list[list[int]], pooling: Any = "mean") -> list[Array]:
    batch = _core.Batch(embedding=True, pooling=pooling)
    for tokens in inputs:
        batch.add_input(tokens)
    return context.decode(batch).embeddings


def same_bits(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()
