"""A sequence's logits have the same bits whatever else is computed, and however it is cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bactrian import _core
from make_tiny import TinyOptions
from model.conftest import MakeContext, TinyModels
from model.harness import Array, decode, embed, random_tokens, same_bits

# Packed with a fused kernel, packed without one, left in the file's layout; F32 is GEMM alone.
DTYPES = ["F32", "Q4_1", "Q6_K", "Q5_0"]
D = TinyOptions()


@pytest.fixture(params=DTYPES)
def model(tiny: TinyModels, request: pytest.FixtureRequest) -> _core.Model:
    return tiny.model(replace(D, dtype=request.param))


def alone(make_context: MakeContext, model: _core.Model, seed: int) -> Array:
    """Logits of all tokens of sequence `seed`, computed one sequence to a batch."""
    return decode(make_context(model), (0, prompt(seed)), logits="all")


def prompt(seed: int) -> list[int]:
    return random_tokens(seed, 40 + 29 * (seed % 4), D.n_vocab)


@pytest.mark.parametrize("n_sequences", [2, 7, 32])
def test_with_neighbours(make_context: MakeContext, model: _core.Model, n_sequences: int) -> None:
    context = make_context(model, n_ctx=32 * 192)
    together = decode(context, *((s, prompt(s)) for s in range(n_sequences)), logits="all")
    row = 0
    for s in range(n_sequences):
        n_rows = len(prompt(s))
        assert same_bits(together[row : row + n_rows], alone(make_context, model, s)), s
        row += n_rows
    # One more token of each, all at once: the regime of generation.
    step = decode(context, *((s, [s]) for s in range(n_sequences)))
    for s in range(n_sequences):
        single = make_context(model)
        decode(single, (0, prompt(s)), logits="none")
        assert same_bits(step[s : s + 1], decode(single, (0, [s]))), s


@pytest.mark.parametrize("n_ubatch", [1, 5, 64])
def test_in_chunks(make_context: MakeContext, model: _core.Model, n_ubatch: int) -> None:
    tokens = prompt(3)
    context = make_context(model, n_ubatch=n_ubatch)
    assert same_bits(decode(context, (0, tokens), logits="all"), alone(make_context, model, 3))


@pytest.mark.parametrize("chunk", [1, 5, 64])
def test_in_several_decodes(make_context: MakeContext, model: _core.Model, chunk: int) -> None:
    tokens = prompt(3)
    expected = alone(make_context, model, 3)
    context = make_context(model)
    for begin in range(0, len(tokens), chunk):
        part = tokens[begin : begin + chunk]
        rows = decode(context, (0, part), logits="all")
        assert same_bits(rows, expected[begin : begin + len(part)]), begin


def test_with_more_threads(make_context: MakeContext, model: _core.Model) -> None:
    context = make_context(model, n_threads=2)
    assert context.n_threads == 2
    assert same_bits(decode(context, (0, prompt(3)), logits="all"), alone(make_context, model, 3))


def test_whatever_rows_are_asked_for(make_context: MakeContext, model: _core.Model) -> None:
    last = decode(make_context(model), (0, prompt(1)))
    assert same_bits(last, alone(make_context, model, 1)[-1:])


@pytest.mark.parametrize("n_shared", [1, 63, 64, 65, 100])
def test_after_a_fork(make_context: MakeContext, model: _core.Model, n_shared: int) -> None:
    tokens, other = prompt(3), prompt(2)
    expected = alone(make_context, model, 3)
    context = make_context(model, n_ctx=1024)
    decode(context, (0, tokens), logits="none")
    context.fork(0, 1, n_shared)
    # Both write behind the shared prefix, the fork first.
    forked = decode(context, (1, other), (0, [5]), logits="all")
    fresh = make_context(model)
    whole = decode(fresh, (0, tokens[:n_shared] + other), logits="all")
    assert same_bits(forked[:-1], whole[n_shared:])
    context.truncate(0, n_shared)
    again = decode(context, (0, tokens[n_shared:]), logits="all")
    assert same_bits(again, expected[n_shared:])


def test_with_a_reused_prefix(make_context: MakeContext, model: _core.Model) -> None:
    tokens = prompt(3)  # 127: one whole page and a part
    expected = alone(make_context, model, 3)
    context = make_context(model, n_ctx=1024)
    decode(context, (0, tokens), logits="none")
    # From a living sequence and from one that is gone.
    for sequence in (1, 2):
        assert context.reuse_prefix(sequence, tokens) == 64
        rows = decode(context, (sequence, tokens[64:]), logits="all")
        assert same_bits(rows, expected[64:])
        context.remove(0)


@pytest.mark.parametrize("dtype", ["F32", "F16", "Q8_0"])
def test_with_every_kv_type(tiny: TinyModels, make_context: MakeContext, dtype: str) -> None:
    model = tiny.model(D)
    types = {"dtype_k": dtype, "dtype_v": dtype}
    expected = decode(make_context(model, **types), (0, prompt(3)), logits="all")
    context = make_context(model, n_ubatch=7, n_threads=2, n_ctx=1024, **types)
    together = decode(context, (1, prompt(1)), (0, prompt(3)), logits="all")
    assert same_bits(together[len(prompt(1)) :], expected)


@pytest.mark.parametrize("pooling", ["none", "mean", "cls", "last"])
@pytest.mark.parametrize("causal", [True, False])
def test_embeddings(
    tiny: TinyModels, make_context: MakeContext, pooling: str, causal: bool
) -> None:
    model = tiny.model(replace(D, causal=causal))
    inputs = [prompt(s)[: 1 + 37 * s % 90] for s in range(12)]
    single = [embed(make_context(model), [tokens], pooling)[0] for tokens in inputs]
    for options in ({}, {"n_ubatch": 1}, {"n_ubatch": 50}, {"n_threads": 2}):
        together = embed(make_context(model, **options), inputs, pooling)
        assert all(map(same_bits, together, single)), options
    reverse = embed(make_context(model), inputs[::-1], pooling)
    assert all(map(same_bits, reverse[::-1], single))
