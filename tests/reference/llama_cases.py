"""The models on which the numpy llama is compared with transformers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from make_tiny import TinyOptions
from reference.llama import RopeLayout

# More tokens than the original context of the scaled models (64), so that scaling matters.
N_TOKENS = 160
POSITIONS = (0, 1, 63, 159)  # where logits are compared
GOLDEN = Path(__file__).with_name("llama_transformers.npz")


@dataclass(frozen=True)
class Case:
    """One model, and how its q and k are rotated."""

    options: TinyOptions
    rope_layout: RopeLayout = "norm"


CASES = {
    "plain": Case(TinyOptions()),
    "neox": Case(TinyOptions(), rope_layout="neox"),
    "no_gqa": Case(TinyOptions(n_head=4, n_head_kv=4)),
    "one_kv_head": Case(TinyOptions(n_head=8, n_head_kv=1)),
    "untied_biases": Case(TinyOptions(tied=False, biases=True, seed=1)),
    "narrow": Case(TinyOptions(n_embd=96, n_head=6, n_head_kv=3, n_ff=160)),
    "linear": Case(TinyOptions(rope_scaling="linear")),
    "yarn": Case(TinyOptions(rope_scaling="yarn")),
    "llama3": Case(TinyOptions(rope_scaling="llama3")),
    "non_causal": Case(TinyOptions(causal=False)),
}


def case_tokens() -> list[int]:
    """The token ids [N_TOKENS] that every case reads."""
    return [int(t) for t in np.random.default_rng(7).integers(3, 512, N_TOKENS)]
