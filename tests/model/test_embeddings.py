"""Embeddings against the numpy reference, and what an embedding batch leaves alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bactrian import _core
from bactrian.errors import ContextOverflowError, InvalidArgumentError, UnsupportedError
from make_tiny import TinyOptions
from model.conftest import MakeContext, TinyModels
from model.harness import decode, embed, random_tokens, same_bits
from reference.llama import pool

D = TinyOptions()
LENGTHS = (7, 1, 130, 2, 31, 64)


@pytest.mark.parametrize("pooling", ["none", "mean", "cls", "last"])
@pytest.mark.parametrize("causal", [True, False])
def test_against_reference(
    tiny: TinyModels, make_context: MakeContext, pooling: Any, causal: bool
) -> None:
    options = replace(D, causal=causal)
    inputs = [random_tokens(n, n, D.n_vocab) for n in LENGTHS]
    vectors = embed(make_context(tiny.model(options)), inputs, pooling)
    assert len(vectors) == len(inputs)
    for tokens, vector in zip(inputs, vectors, strict=True):
        _, hidden = tiny.reference(options).forward(tokens)
        np.testing.assert_allclose(vector, pool(hidden, pooling), rtol=0, atol=1e-4)


def test_file_says_causal_and_pooling(tiny: TinyModels) -> None:
    model = tiny.model(replace(D, causal=False, pooling="cls"))
    assert not model.causal
    assert model.pooling == "cls"
    assert tiny.model(D).causal
    assert tiny.model(D).pooling is None


def test_sequences_and_pages_are_left_alone(tiny: TinyModels, make_context: MakeContext) -> None:
    model = tiny.model(D)
    tokens = random_tokens(1, 100, D.n_vocab)
    undisturbed = make_context(model)
    decode(undisturbed, (0, tokens), logits="none")
    expected = decode(undisturbed, (0, [1]))

    # A cache that one sequence fills: there is no page left to take.
    context = make_context(model, n_ctx=128)
    decode(context, (0, tokens), logits="none")
    assert context.n_free_pages == 0
    embed(context, [random_tokens(n, n, D.n_vocab) for n in (200, 64, 3)])
    assert context.n_free_pages == 0
    assert context.sequences() == [0]
    assert context.tokens(0).tolist() == tokens
    assert same_bits(decode(context, (0, [1])), expected)


def test_forty_inputs_of_one_token(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(D), n_ctx=64)
    vectors = embed(context, [[i] for i in range(40)])
    assert len({vector.tobytes() for vector in vectors}) == 40


@pytest.mark.parametrize("n_ubatch", [1, 16, 512])
def test_input_longer_than_the_ubatch(
    tiny: TinyModels, make_context: MakeContext, n_ubatch: int
) -> None:
    tokens = random_tokens(1, D.context_length, D.n_vocab)
    context = make_context(tiny.model(D), n_ubatch=n_ubatch, n_ctx=64)
    (vector,) = embed(context, [tokens])
    _, hidden = tiny.reference(D).forward(tokens)
    np.testing.assert_allclose(vector, hidden.mean(axis=0), rtol=0, atol=1e-4)


def test_input_longer_than_the_model_allows(tiny: TinyModels, make_context: MakeContext) -> None:
    limit = D.context_length
    context = make_context(tiny.model(D), n_ctx=4 * limit)
    inputs = [[1, 2], [3] * (limit + 1), [4]]
    with pytest.raises(ContextOverflowError, match=f"input 1 is too large: {limit + 1} .* {limit}"):
        embed(context, inputs)
    assert len(embed(context, [inputs[0], [3] * limit, inputs[2]])) == 3


def test_model_that_is_not_causal_cannot_continue(
    tiny: TinyModels, make_context: MakeContext
) -> None:
    context = make_context(tiny.model(replace(D, causal=False)))
    with pytest.raises(UnsupportedError, match="use an embedding batch"):
        decode(context, (0, [1, 2, 3]))


def test_kinds_do_not_mix(tiny: TinyModels, make_context: MakeContext) -> None:
    tokens, inputs = _core.Batch(), _core.Batch(embedding=True)
    with pytest.raises(InvalidArgumentError, match="made for tokens"):
        tokens.add_input([1])
    with pytest.raises(InvalidArgumentError, match="made for embeddings"):
        inputs.add_tokens(0, [1])
    tokens.add_tokens(0, [1])
    inputs.add_input([1])
    context = make_context(tiny.model(D))
    with pytest.raises(InvalidArgumentError, match="use logits"):
        _ = context.decode(tokens).embeddings
    with pytest.raises(InvalidArgumentError, match="use embeddings"):
        _ = context.decode(inputs).logits


def test_empty_batches(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(D))
    assert context.decode(_core.Batch(embedding=True)).embeddings == []
    assert context.decode(_core.Batch()).logits.shape == (0, D.n_vocab)
