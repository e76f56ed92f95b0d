"""What the tests of samplers share."""

import numpy as np

from bactrian import _core

SEED = 7


def sampler(n_vocab: int, **params: object) -> _core.Sampler:
    return _core.Sampler({"samplers": [], "seed": SEED, **params}, n_vocab)


def mask_of(n_vocab: int, allowed: set[int]) -> np.ndarray:
    words = np.zeros((n_vocab + 31) // 32, np.uint32)
    for token in allowed:
        words[token // 32] |= np.uint32(1 << token % 32)
    return words


def logits_of(n: int, seed: int, scale: float = 3.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(n) * scale).astype(np.float32)
