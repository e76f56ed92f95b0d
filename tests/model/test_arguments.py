"""What the native API takes and refuses, and who owns what it returns."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bactrian import _core
from bactrian.errors import (
    FileFormatError,
    InvalidArgumentError,
    OutOfMemoryError,
    UnsupportedError,
)
from make_tiny import TinyOptions
from model.conftest import MakeContext, TinyModels
from model.harness import decode, embed, random_tokens, same_bits

D = TinyOptions()


def test_model_properties(tiny: TinyModels) -> None:
    model = tiny.model(D)
    assert model.architecture == "llama"
    shape = (model.n_vocab, model.n_embd, model.n_layer, model.n_head, model.n_head_kv)
    assert shape == (512, 256, 2, 4, 2)
    assert model.n_ctx_train == model.n_ctx_max == D.context_length
    assert model.file_bytes == 4 * model.n_params  # F32
    assert model.packed_bytes > 0
    assert model.unused_tensors == []


@pytest.mark.parametrize(
    "tokens",
    [
        [5, 6, 7],
        (5, 6, 7),
        range(5, 8),
        np.array([5, 6, 7], np.int32),
        np.array([5, 6, 7], np.int64),
        np.array([5, 6, 7], np.uint16),
        np.array([5, 0, 6, 0, 7], np.int32)[::2],
    ],
    ids=str,
)
def test_token_containers(tiny: TinyModels, make_context: MakeContext, tokens: Any) -> None:
    context = make_context(tiny.model(D))
    decode(context, (0, tokens))
    assert context.tokens(0).tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    "tokens", [[1.0, 2.0], ["a"], [[1, 2]], [True, False], 5, None, [2**40], [2**70], "abc"]
)
def test_what_are_not_tokens(tokens: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="token"):
        _core.Batch().add_tokens(0, tokens)


@pytest.mark.parametrize("token", [-1, 512, 2**31 - 1, -(2**31)])
def test_tokens_outside_the_vocabulary(
    tiny: TinyModels, make_context: MakeContext, token: int
) -> None:
    context = make_context(tiny.model(D))
    with pytest.raises(InvalidArgumentError, match=f"{token} .*vocabulary of 512"):
        decode(context, (0, [1, token]))
    with pytest.raises(InvalidArgumentError, match=f"{token} .*vocabulary of 512"):
        embed(context, [[1], [token]])
    assert context.sequences() == []


def test_batch_arguments() -> None:
    batch = _core.Batch()
    with pytest.raises(InvalidArgumentError, match="empty"):
        batch.add_tokens(0, [])
    with pytest.raises(InvalidArgumentError, match="sequence is -1"):
        batch.add_tokens(-1, [1])
    with pytest.raises(InvalidArgumentError, match='logits is "some"'):
        batch.add_tokens(0, [1], logits="some")
    with pytest.raises(InvalidArgumentError, match='pooling is "max"'):
        _core.Batch(embedding=True, pooling="max")
    assert (len(batch), batch.n_tokens, batch.embedding) == (0, 0, False)
    batch.add_tokens(0, [1, 2, 3], logits="all")
    batch.add_tokens(1, [1, 2], logits="none")
    assert (len(batch), batch.n_tokens) == (3, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_ctx": -1}, "n_ctx is -1"),
        ({"n_ctx": 2**40}, "n_ctx"),
        ({"n_ubatch": 0}, "n_ubatch is 0"),
        ({"n_threads": -1}, "n_threads is -1"),
        ({"dtype_k": "Q4_0"}, "dtype_k is Q4_0"),
        ({"dtype_v": "float"}, 'dtype_v is "float"'),
    ],
    ids=str,
)
def test_context_arguments(tiny: TinyModels, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        _core.Context(tiny.model(D), **options)


def test_q8_0_cache_needs_heads_of_whole_blocks(tiny: TinyModels) -> None:
    model = tiny.model(replace(D, n_embd=96, n_head=6, n_head_kv=3, n_ff=160))
    with pytest.raises(InvalidArgumentError, match="multiples of 32; this model's is 16"):
        _core.Context(model, dtype_k="Q8_0")


def test_kv_memory_that_is_not_there(tiny: TinyModels) -> None:
    model = tiny.model(
        replace(D, n_embd=4096, n_head=4, n_head_kv=4, n_layer=1, n_ff=32, n_vocab=320)
    )
    context = _core.Context(model, n_ctx=2**24, n_threads=1, dtype_k="F32", dtype_v="F32")
    assert context.kv_bytes == 2**24 * 32768
    # Embeddings need none of it.
    assert embed(context, [[1, 2, 3]])[0].shape == (4096,)
    with pytest.raises(OutOfMemoryError, match="KV cache"):
        decode(context, (0, [1]))
    assert context.sequences() == []


def test_rope_arguments(tiny: TinyModels) -> None:
    file = _core.GgufFile(str(tiny.path(D)))
    for options in ({"rope_scaling": "ntk"}, {"rope_scale": 0.0}, {"rope_freq_base": -1.0}):
        with pytest.raises(InvalidArgumentError, match=next(iter(options))):
            _core.Model(file, **options)


def test_arrays_share_memory_and_survive_everything(
    tiny: TinyModels, make_context: MakeContext
) -> None:
    context = _core.Context(tiny.model(D), n_threads=1)
    batch = _core.Batch()
    batch.add_tokens(0, [1, 2, 3], logits="all")
    output = context.decode(batch)
    logits = output.logits
    assert logits.dtype == np.float32
    assert np.shares_memory(logits, output.logits)
    kept = logits.copy()
    vectors = embed(context, [[1, 2], [3]])
    vectors_kept = [vector.copy() for vector in vectors]
    for n in range(1, 20):
        decode(context, (1, [n] * n), logits="all")
        embed(context, [[n]])
    del output, context
    gc.collect()
    for n in range(1, 5):
        decode(make_context(tiny.model(D)), (1, [n] * n), logits="all")
    assert same_bits(logits, kept)
    assert all(map(same_bits, vectors, vectors_kept))


def test_row_of_a_dropped_array_is_not_reused_while_a_view_lives(
    tiny: TinyModels, make_context: MakeContext
) -> None:
    context = make_context(tiny.model(D))
    row = decode(context, (0, random_tokens(1, 5, 512)), logits="all")[2]
    kept = row.copy()
    for _ in range(5):
        decode(context, (1, random_tokens(2, 5, 512)), logits="all")
        context.remove(1)
    np.testing.assert_array_equal(row, kept)


def test_progress_rises_to_one_and_may_cancel(tiny: TinyModels) -> None:
    file = _core.GgufFile(str(tiny.path(D)))
    shares: list[float] = []
    _core.Model(file, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) > 10

    class EnoughError(Exception):
        pass

    def cancel(share: float) -> None:
        if share > 0.5:
            raise EnoughError

    with pytest.raises(EnoughError):
        _core.Model(file, progress=cancel)


def test_broken_models_are_refused(tiny: TinyModels, tmp_path: Any) -> None:
    whole = tiny.path(D).read_bytes()
    renamed = tmp_path / "renamed.gguf"
    renamed.write_bytes(whole.replace(b"blk.1.ffn_up.weight", b"blk.1.ffn_uq.weight"))
    with pytest.raises(FileFormatError, match=r"blk\.1\.ffn_up\.weight is missing"):
        _core.Model(_core.GgufFile(str(renamed)))
    renamed.write_bytes(whole.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0camel", 1))
    with pytest.raises(UnsupportedError, match='"camel" is not supported; supported are: llama'):
        _core.Model(_core.GgufFile(str(renamed)))


def test_build_info() -> None:
    info = _core.build_info()
    assert set(info) == {"version", "compiler", "build_type", "backends"}
    assert _core.default_threads() >= 1
    assert _core.supported_isas()[0] == "ref"
    assert _core.selected_isa() in _core.supported_isas()
