"""Fork, truncate, shift, prefix reuse and overflow of sequences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bactrian.errors import ContextOverflowError, InvalidArgumentError
from make_tiny import TinyOptions
from model.conftest import MakeContext, TinyModels
from model.harness import decode, random_tokens, same_bits

D = TinyOptions()


def test_books(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(D), n_ctx=200)
    assert (context.n_ctx, context.n_pages, context.n_free_pages) == (200, 4, 4)
    assert context.sequences() == []
    assert context.length(5) == 0
    decode(context, (5, [1, 2, 3]), (2, [4]))
    assert context.sequences() == [2, 5]
    assert context.length(5) == 3
    assert context.tokens(5).tolist() == [1, 2, 3]
    assert context.tokens(5).dtype == np.int32
    assert context.n_free_pages == 2
    context.truncate(5, 1)
    assert context.tokens(5).tolist() == [1]
    context.remove(5)
    assert context.sequences() == [2]
    assert context.n_free_pages == 3


def test_default_size_is_the_models_context(tiny: TinyModels, make_context: MakeContext) -> None:
    assert make_context(tiny.model(D)).n_ctx == D.context_length


def test_a_sequence_added_twice_continues(tiny: TinyModels, make_context: MakeContext) -> None:
    tokens = random_tokens(1, 30, D.n_vocab)
    expected = decode(make_context(tiny.model(D)), (0, tokens), logits="all")
    context = make_context(tiny.model(D))
    rows = decode(context, (0, tokens[:10]), (1, tokens[:3]), (0, tokens[10:]))
    assert same_bits(rows, np.stack([expected[9], expected[2], expected[29]]))


def test_truncated_sequence_takes_another_way(tiny: TinyModels, make_context: MakeContext) -> None:
    tokens = random_tokens(1, 100, D.n_vocab)
    context = make_context(tiny.model(D))
    decode(context, (0, tokens))
    for n_tokens in (90, 64, 63, 1, 0):
        context.truncate(0, n_tokens)
        other = random_tokens(n_tokens, 20, D.n_vocab)
        fresh = make_context(tiny.model(D))
        expected = decode(fresh, (0, tokens[:n_tokens] + other))
        assert same_bits(decode(context, (0, other)), expected), n_tokens
        context.truncate(0, n_tokens)


@pytest.mark.parametrize("rope_scaling", ["none", "yarn"])
@pytest.mark.parametrize(("dtype", "atol"), [("F32", 1e-4), ("F16", 1e-2), ("Q8_0", 1e-1)])
@pytest.mark.parametrize(("n_keep", "n_discard"), [(0, 64), (4, 30), (64, 64), (70, 1), (1, 120)])
def test_shift_equals_recomputation_in_one_layer(
    tiny: TinyModels,
    make_context: MakeContext,
    rope_scaling: str,
    dtype: str,
    atol: float,
    n_keep: int,
    n_discard: int,
) -> None:
    # Keys and values of the first layer depend on their own token and position alone, so with one
    # layer a shifted cache is the one that the remaining tokens give.
    options = replace(D, n_layer=1, rope_scaling=rope_scaling)
    tokens = random_tokens(1, 130, D.n_vocab)
    types = {"dtype_k": dtype, "dtype_v": dtype}
    context = make_context(tiny.model(options), **types)
    decode(context, (0, tokens), logits="none")
    context.shift(0, n_keep, n_discard)
    remaining = tokens[:n_keep] + tokens[n_keep + n_discard :]
    assert context.tokens(0).tolist() == remaining
    fresh = make_context(tiny.model(options), **types)
    decode(fresh, (0, remaining), logits="none")
    following = [3, 1, 4]
    np.testing.assert_allclose(
        decode(context, (0, following), logits="all"),
        decode(fresh, (0, following), logits="all"),
        rtol=0,
        atol=atol,
    )


def test_shift_leaves_a_fork_alone(tiny: TinyModels, make_context: MakeContext) -> None:
    tokens = random_tokens(1, 100, D.n_vocab)
    expected = decode(make_context(tiny.model(D)), (0, [*tokens, 7]))
    context = make_context(tiny.model(D), n_ctx=512)
    decode(context, (0, tokens), logits="none")
    context.fork(0, 1)
    context.shift(0, 10, 50)
    assert same_bits(decode(context, (1, [7])), expected)
    assert context.length(0) == 50


def test_shifted_pages_are_never_found_as_a_prefix(
    tiny: TinyModels, make_context: MakeContext
) -> None:
    tokens = random_tokens(1, 200, D.n_vocab)
    context = make_context(tiny.model(D), n_ctx=512)
    decode(context, (0, tokens), logits="none")
    context.shift(0, 0, 20)
    decode(context, (0, [1, 2, 3]))
    assert context.reuse_prefix(1, [*tokens[20:], 1]) == 0


@pytest.mark.parametrize("n_keep", [-2, -1, 39, 63, 64, 65, 2**31 - 1])
@pytest.mark.parametrize("n_discard", [-17, -1, 63, 2**31 - 1, 2**31, 2**62])
def test_shift_out_of_range(
    tiny: TinyModels, make_context: MakeContext, n_keep: int, n_discard: int
) -> None:
    context = make_context(tiny.model(D))
    decode(context, (0, random_tokens(1, 40, D.n_vocab)))
    with pytest.raises(InvalidArgumentError, match="sequence 0"):
        context.shift(0, n_keep, n_discard)
    assert context.length(0) == 40


def test_arguments_out_of_range(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(D))
    decode(context, (0, [1, 2, 3]), (1, [1]))
    for n_tokens in (-1, 4, 2**62):
        with pytest.raises(InvalidArgumentError):
            context.truncate(0, n_tokens)
        with pytest.raises(InvalidArgumentError):
            context.fork(0, 2, n_tokens)
    with pytest.raises(InvalidArgumentError, match="remove it first"):
        context.fork(0, 1)
    with pytest.raises(InvalidArgumentError, match="remove it first"):
        context.reuse_prefix(0, [1, 2])
    with pytest.raises(InvalidArgumentError, match="must be 0 or more"):
        context.fork(0, -1)
    assert context.tokens(0).tolist() == [1, 2, 3]
    assert context.sequences() == [0, 1]


def test_reused_prefix_leaves_a_token_to_evaluate(
    tiny: TinyModels, make_context: MakeContext
) -> None:
    tokens = random_tokens(1, 128, D.n_vocab)
    context = make_context(tiny.model(D), n_ctx=1024)
    assert context.reuse_prefix(0, tokens) == 0
    decode(context, (0, tokens))
    assert context.reuse_prefix(1, tokens) == 64
    assert context.reuse_prefix(2, [*tokens, 1]) == 128
    assert context.reuse_prefix(3, tokens[:64]) == 0
    assert context.reuse_prefix(4, [tokens[0] + 1, *tokens[1:]]) == 0


def test_sequence_beyond_the_models_context(tiny: TinyModels, make_context: MakeContext) -> None:
    limit = D.context_length
    context = make_context(tiny.model(D), n_ctx=4 * limit)
    decode(context, (0, [1] * (limit - 1)), logits="none")
    with pytest.raises(ContextOverflowError, match=f"{limit + 1} .* available .* {limit}"):
        decode(context, (0, [1, 2]))
    assert context.length(0) == limit - 1
    decode(context, (0, [1]))
    with pytest.raises(ContextOverflowError):
        decode(context, (0, [1]))


def test_out_of_pages_changes_nothing(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(D), n_ctx=192)
    tokens = random_tokens(1, 70, D.n_vocab)
    decode(context, (0, tokens), logits="none")
    with pytest.raises(ContextOverflowError, match=r"needs 2 more pages.* only 1 of 3"):
        decode(context, (0, [1]), (1, tokens))
    assert context.sequences() == [0]
    assert context.length(0) == 70
    context.check()
    fresh = make_context(tiny.model(D))
    assert same_bits(decode(context, (0, [1])), decode(fresh, (0, [*tokens, 1])))


def test_a_single_sequence_may_take_the_whole_cache(
    tiny: TinyModels, make_context: MakeContext
) -> None:
    context = make_context(tiny.model(D), n_ctx=128)
    decode(context, (0, [1] * 128), logits="none")
    assert context.n_free_pages == 0
    context.remove(0)
    decode(context, (9, [2] * 128), logits="none")
