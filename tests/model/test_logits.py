"""Logits against the numpy reference, on tiny models of every shape and format."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bactrian import _core
from formats import FORMATS
from make_tiny import ODD_WIDTH, TinyOptions
from model.conftest import MakeContext, TinyModels
from model.harness import decode, random_tokens

D = TinyOptions()

SHAPES = {
    "grouped-query": D,
    "multi-head": replace(D, n_head_kv=4),
    "multi-query": replace(D, n_head_kv=1),
    "untied": replace(D, tied=False),
    "biases": replace(D, biases=True, tied=False),
    "one layer": replace(D, n_layer=1),
    "odd width": ODD_WIDTH,
    "partial rotation": replace(D, rope_dims=32),
    "linear": replace(D, rope_scaling="linear"),
    "yarn": replace(D, rope_scaling="yarn"),
    "llama3": replace(D, rope_scaling="llama3"),
    "spm": replace(D, vocabulary="spm"),
    "shards": replace(D, n_shards=3),
}

# The reference computes in float64, the engine in float32; logits are near 1.
ATOL = 3e-5


@pytest.mark.parametrize("options", SHAPES.values(), ids=SHAPES.keys())
def test_shape(tiny: TinyModels, make_context: MakeContext, options: TinyOptions) -> None:
    tokens = random_tokens(1, 150, options.n_vocab)
    context = make_context(tiny.model(options), dtype_k="F32", dtype_v="F32", n_ubatch=64)
    expected, _ = tiny.reference(options).forward(tokens)
    np.testing.assert_allclose(
        decode(context, (0, tokens), logits="all"), expected, rtol=0, atol=ATOL
    )


@pytest.mark.parametrize("dtype", FORMATS)
def test_format(tiny: TinyModels, make_context: MakeContext, dtype: str) -> None:
    options = replace(D, dtype=dtype, tied=False)
    tokens = random_tokens(2, 40, options.n_vocab)
    context = make_context(tiny.model(options), dtype_k="F32", dtype_v="F32")
    expected, _ = tiny.reference(options).forward(tokens)
    # Both regimes: many tokens at once, and one at a time.
    prefill = decode(context, (0, tokens), logits="all")
    np.testing.assert_allclose(prefill, expected, rtol=0, atol=ATOL)
    single = np.concatenate([decode(context, (1, [token])) for token in tokens])
    np.testing.assert_array_equal(single, prefill)


@pytest.mark.parametrize(("dtype", "atol"), [("F32", ATOL), ("F16", 5e-3), ("Q8_0", 1e-1)])
def test_kv_cache_types(
    tiny: TinyModels, make_context: MakeContext, dtype: str, atol: float
) -> None:
    tokens = random_tokens(3, 150, D.n_vocab)
    expected, _ = tiny.reference(D).forward(tokens)
    context = make_context(tiny.model(D), dtype_k=dtype, dtype_v=dtype)
    actual = decode(context, (0, tokens), logits="all")
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)
    # The coarser the type, the larger the error: it is really stored in that type.
    error = np.abs(actual - expected).max()
    assert dtype == "F32" or error > ATOL / 10
    element_bytes = {"F32": 4.0, "F16": 2.0, "Q8_0": 34 / 32}[dtype]
    per_token = D.n_layer * D.n_head_kv * D.d_head * 2 * element_bytes
    assert tiny.model(D).kv_bytes_per_token(dtype, dtype) == per_token
    assert context.kv_bytes == per_token * 64 * context.n_pages


def test_rope_overrides_act_like_the_same_keys_in_the_file(
    tiny: TinyModels, make_context: MakeContext
) -> None:
    tokens = random_tokens(4, 100, D.n_vocab)
    file = _core.GgufFile(str(tiny.path(D)))
    scaled = tiny.model(replace(D, rope_scaling="linear"))
    overridden = _core.Model(file, rope_scaling="linear", rope_scale=4.0)
    a, b, plain = (
        decode(make_context(model), (0, tokens), logits="all")
        for model in (scaled, overridden, tiny.model(D))
    )
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - plain).max() > 0.1
    assert overridden.n_ctx_max == 4 * overridden.n_ctx_train
    other_base = _core.Model(file, rope_freq_base=500.0)
    assert np.abs(decode(make_context(other_base), (0, tokens), logits="all") - plain).max() > 0.1


def test_greedy_text_is_that_of_the_reference(tiny: TinyModels, make_context: MakeContext) -> None:
    prompt = random_tokens(5, 12, D.n_vocab)
    context = make_context(tiny.model(D), dtype_k="F32", dtype_v="F32")
    expected = tiny.reference(D).greedy(prompt, 24, frozenset())
    tokens = prompt
    new: list[int] = []
    for _ in range(24):
        tokens = [int(decode(context, (0, tokens))[0].argmax())]
        new += tokens
    assert new == expected
