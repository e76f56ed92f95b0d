"""The numpy llama says what transformers says, so that the engine may be measured against it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from make_tiny import TinyOptions, tiny_llama
from reference.llama import Llama, pool
from reference.llama_cases import CASES, GOLDEN, POSITIONS, case_tokens


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_transformers(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = tiny_llama(tmp_path / "model.gguf", case.options)
    logits, hidden = Llama(path, rope_layout=case.rope_layout).forward(case_tokens())
    with np.load(GOLDEN) as golden:
        # Logits have unit variance; float32 RoPE angles in transformers allow about 1e-5.
        np.testing.assert_allclose(
            logits[list(POSITIONS)], golden[f"{name}.logits"], rtol=0, atol=1e-4
        )
        np.testing.assert_allclose(hidden.mean(axis=0), golden[f"{name}.mean"], rtol=0, atol=1e-4)


def test_cases_differ() -> None:
    # A case that gives the logits of another one would prove nothing.
    with np.load(GOLDEN) as golden:
        last = [golden[f"{name}.logits"][-1] for name in CASES]
    gaps = [abs(a - b).max() for i, a in enumerate(last) for b in last[:i]]
    assert min(gaps) > 0.01


def test_shards_hold_the_same_model(tmp_path: Path) -> None:
    whole = tiny_llama(tmp_path / "whole.gguf")
    first = tiny_llama(tmp_path / "split.gguf", TinyOptions(n_shards=3))
    assert first.name == "split-00001-of-00003.gguf"
    a, b = Llama(whole).weights, Llama(first).weights
    assert a.keys() == b.keys()
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_pool() -> None:
    hidden = np.array([[1.0, 2.0], [3.0, 6.0]])
    assert pool(hidden, "none") is hidden
    assert pool(hidden, "mean").tolist() == [2.0, 4.0]
    assert pool(hidden, "cls").tolist() == [1.0, 2.0]
    assert pool(hidden, "last").tolist() == [3.0, 6.0]
