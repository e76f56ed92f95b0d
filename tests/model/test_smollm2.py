"""SmolLM2-135M-Instruct in Q4_1, the default model: against transformers, and bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bactrian import _core
from bactrian.hub import fetch_default_model
from model.conftest import MakeContext
from model.harness import Array, decode, embed, random_tokens, same_bits
from reference.llama import log_softmax

GOLDEN = Path(__file__).parent.parent / "golden"
GREEDY = json.loads((GOLDEN / "smollm2.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def model() -> _core.Model:
    return _core.Model(_core.GgufFile(str(fetch_default_model())))


@pytest.mark.parametrize(
    ("dtype", "top1", "kl"), [("F32", 0.995, 1e-4), ("F16", 0.995, 1e-4), ("Q8_0", 0.97, 5e-3)]
)
def test_teacher_forced_logits(
    model: _core.Model, make_context: MakeContext, dtype: str, top1: float, kl: float
) -> None:
    with np.load(GOLDEN / "smollm2_logits.npz") as golden:
        tokens, top_ids = golden["tokens"].tolist(), golden["top_ids"].astype(np.int64)
        expected = np.column_stack([golden["top_logprobs"], golden["rest_logprob"]])
    assert len(tokens) >= 500
    context = make_context(model, n_ctx=1024, n_threads=2, dtype_k=dtype, dtype_v=dtype)
    logits = decode(context, (0, tokens), logits="all").astype(np.float64)
    assert (logits.argmax(axis=1) == top_ids[:, 0]).mean() >= top1
    # KL over the buckets of the golden: its 256 best tokens, and all others together.
    ours = np.take_along_axis(log_softmax(logits), top_ids, axis=1)
    rest = np.log1p(-np.exp(ours).sum(axis=1))
    q = np.column_stack([ours, rest])
    assert (np.exp(expected) * (expected - q)).sum(axis=1).mean() <= kl


@pytest.mark.parametrize("completion", GREEDY["completions"], ids=lambda c: c["prompt"][:20])
def test_greedy_completion(
    model: _core.Model, make_context: MakeContext, completion: dict[str, list[int]]
) -> None:
    context = make_context(model, n_ctx=512, n_threads=2, dtype_k="F32", dtype_v="F32")
    tokens = completion["tokens"]
    new: list[int] = []
    while len(new) < len(completion["greedy"]):
        tokens = [int(decode(context, (0, tokens))[0].argmax())]
        new += tokens
    assert new == completion["greedy"]


def test_embeddings(model: _core.Model, make_context: MakeContext) -> None:
    texts = [entry["tokens"] for entry in GREEDY["tokenizer"][-4:-1]]
    with np.load(GOLDEN / "smollm2_embeddings.npz") as golden:
        expected = golden["mean"]
    vectors = embed(make_context(model, n_threads=2), texts)
    np.testing.assert_allclose(np.stack(vectors), expected, rtol=0, atol=1e-3)


def prompt(sequence: int) -> list[int]:
    return random_tokens(sequence, 20 + 23 * (sequence % 5), 49152)


@pytest.fixture(scope="module")
def alone(model: _core.Model) -> Array:
    """Logits of all tokens of prompt 4, with nothing beside it."""
    return decode(_core.Context(model, n_ctx=1024, n_threads=1), (0, prompt(4)), logits="all")


@pytest.mark.parametrize("n_sequences", [2, 7, 32])
def test_bits_with_neighbours(
    model: _core.Model, make_context: MakeContext, alone: Array, n_sequences: int
) -> None:
    context = make_context(model, n_ctx=8192, n_threads=2)
    runs = [(s, prompt(s)) for s in range(10, 10 + n_sequences - 1)]
    rows = decode(context, (4, prompt(4)[:-1]), *runs, logits="none")
    assert rows.shape == (0, 49152)
    # The last token of prompt 4 among one token of each neighbour.
    rows = decode(context, *((s, [s]) for s, _ in runs), (4, prompt(4)[-1:]))
    assert same_bits(rows[-1], alone[-1])


@pytest.mark.parametrize("n_ubatch", [1, 5, 64])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_bits_in_chunks(
    model: _core.Model, make_context: MakeContext, alone: Array, n_ubatch: int, n_threads: int
) -> None:
    context = make_context(model, n_ctx=1024, n_ubatch=n_ubatch, n_threads=n_threads)
    assert same_bits(decode(context, (0, prompt(4)), logits="all"), alone)


def test_bits_with_a_shared_prefix(
    model: _core.Model, make_context: MakeContext, alone: Array
) -> None:
    tokens = prompt(4)
    context = make_context(model, n_ctx=1024, n_threads=2)
    decode(context, (0, tokens), logits="none")
    context.fork(0, 1, 50)
    assert same_bits(decode(context, (1, tokens[50:]), logits="all"), alone[50:])
    assert context.reuse_prefix(2, tokens) == 64
    assert same_bits(decode(context, (2, tokens[64:]), logits="all"), alone[64:])
