"""Tiny GGUF files of the ``llama`` architecture with random weights, for tests.

From Python:  ``path = tiny_llama(folder / "model.gguf", TinyOptions(dtype="Q4_K", tied=False))``
From a shell: ``python models/make_tiny.py model.gguf --dtype Q4_K --untied``

The same options always give the same bytes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from gguf import GGUFEndian, GGUFWriter, PoolingType, RopeScalingType
from numpy.typing import NDArray

from formats import FORMATS, Quantize, add_matrix, quantize
from tiny_text import all_text
from vocabulary import Vocabulary, bpe_vocabulary, spm_vocabulary

VocabularyKind = Literal["bpe", "spm"]
RopeScaling = Literal["none", "linear", "yarn", "llama3"]
PoolingKind = Literal["none", "mean", "cls", "last"]

ROPE_FACTOR = 4.0  # of every kind of scaling


@dataclass(frozen=True)
class TinyOptions:
    """What to build. The default width 256 suits every format; see ``ODD_WIDTH``."""

    dtype: str = "F32"  # of all matrices; norms and biases are F32 as in real files
    vocabulary: VocabularyKind = "bpe"
    n_vocab: int = 512
    n_embd: int = 256
    n_layer: int = 2
    n_head: int = 4
    n_head_kv: int = 2
    n_ff: int = 512
    context_length: int = 256
    tied: bool = True
    biases: bool = False
    causal: bool = True
    pooling: PoolingKind | None = None
    rope_scaling: RopeScaling = "none"
    rope_dims: int | None = None  # default: the whole head
    n_shards: int = 1
    big_endian: bool = False
    version: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_embd % self.n_head or self.n_head % self.n_head_kv:
            raise ValueError("n_embd must be a multiple of n_head, and n_head of n_head_kv")
        if self.big_endian and (self.dtype not in ("F32", "F16") or self.version != 3):
            raise ValueError("big-endian files can only be version 3 in F32 or F16")
        if self.version not in (2, 3):
            raise ValueError(f"version is {self.version}, must be 2 or 3")

    @property
    def d_head(self) -> int:
        """Elements of one head."""
        return self.n_embd // self.n_head

    @property
    def n_rot(self) -> int:
        """Elements of one head that rotate."""
        return self.d_head if self.rope_dims is None else self.rope_dims


# Rows of 96 and 160 elements, which K formats can't hold; ``replace(ODD_WIDTH, dtype="Q5_0")``.
ODD_WIDTH = TinyOptions(n_embd=96, n_head=6, n_head_kv=3, n_ff=160)


def tiny_llama(
    path: str | Path,
    options: TinyOptions = TinyOptions(),
    *,
    quantize: Quantize = quantize,
) -> Path:
    """Writes a model and returns the path to load: with shards that of the first, else ``path``.

    Raises ValueError if the options contradict each other or the format can't hold the rows.
    """
    path = Path(path)
    tensors = list(_tensors(options))
    per_shard = math.ceil(len(tensors) / options.n_shards)
    if math.ceil(len(tensors) / per_shard) != options.n_shards:
        raise ValueError(f"{len(tensors)} tensors can't be spread over {options.n_shards} shards")
    writer = GGUFWriter(
        path,
        "llama",
        endianess=GGUFEndian.BIG if options.big_endian else GGUFEndian.LITTLE,
        split_max_tensors=per_shard if options.n_shards > 1 else 0,
    )
    _write_metadata(writer, options)
    for name, values in tensors:
        if values.ndim == 1:
            writer.add_tensor(name, values)
        elif options.big_endian:
            # Left as numbers, because the writer swaps the bytes of numbers only.
            writer.add_tensor(name, values.astype(np.dtype(_PLAIN[options.dtype])))
        else:
            add_matrix(writer, name, values, options.dtype, quantize)
    writer.write_header_to_file()
    files = writer.format_shard_names(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if options.version == 2:
        for file in files:
            _set_version(file, options.version)
    return files[0]


_PLAIN = {"F32": "float32", "F16": "float16"}


def _write_metadata(writer: GGUFWriter, o: TinyOptions) -> None:
    writer.add_name("Tiny random")
    writer.add_file_type(FORMATS[o.dtype])
    writer.add_context_length(o.context_length)
    writer.add_embedding_length(o.n_embd)
    writer.add_block_count(o.n_layer)
    writer.add_feed_forward_length(o.n_ff)
    writer.add_head_count(o.n_head)
    writer.add_head_count_kv(o.n_head_kv)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(o.n_vocab)
    writer.add_rope_dimension_count(o.n_rot)
    writer.add_rope_freq_base(10000.0)
    if o.rope_scaling in ("linear", "yarn"):
        writer.add_rope_scaling_type(RopeScalingType(o.rope_scaling))
        writer.add_rope_scaling_factor(ROPE_FACTOR)
    if o.rope_scaling == "yarn":
        writer.add_rope_scaling_orig_ctx_len(int(o.context_length / ROPE_FACTOR))
    if not o.causal:
        writer.add_causal_attention(False)
    if o.pooling is not None:
        writer.add_pooling_type(PoolingType[o.pooling.upper()])
    _vocabulary(o.vocabulary, o.n_vocab).write(writer)


@cache
def _vocabulary(kind: VocabularyKind, n_tokens: int) -> Vocabulary:
    # Cached because tests make many files, and learning takes longer than all the rest.
    learn = bpe_vocabulary if kind == "bpe" else spm_vocabulary
    return learn(all_text(), n_tokens)


def _tensors(o: TinyOptions) -> Iterator[tuple[str, NDArray[np.float32]]]:
    # Variance 1 / n_cols keeps all activations and the logits near 1.
    rng = np.random.default_rng(o.seed)

    def matrix(name: str, n_rows: int, n_cols: int) -> tuple[str, NDArray[np.float32]]:
        values = rng.standard_normal((n_rows, n_cols), dtype=np.float32)
        return f"{name}.weight", values / np.float32(math.sqrt(n_cols))

    def linear(name: str, n_rows: int, n_cols: int) -> Iterator[tuple[str, NDArray[np.float32]]]:
        yield matrix(name, n_rows, n_cols)
        if o.biases:
            yield f"{name}.bias", np.float32(0.1) * rng.standard_normal(n_rows, dtype=np.float32)

    def norm(name: str) -> tuple[str, NDArray[np.float32]]:
        noise = rng.standard_normal(o.n_embd, dtype=np.float32)
        return f"{name}.weight", np.float32(1.0) + np.float32(0.1) * noise

    d_kv = o.n_head_kv * o.d_head
    yield matrix("token_embd", o.n_vocab, o.n_embd)
    if o.rope_scaling == "llama3":
        yield "rope_freqs.weight", llama3_factors(o)
    for i in range(o.n_layer):
        yield norm(f"blk.{i}.attn_norm")
        yield from linear(f"blk.{i}.attn_q", o.n_embd, o.n_embd)
        yield from linear(f"blk.{i}.attn_k", d_kv, o.n_embd)
        yield from linear(f"blk.{i}.attn_v", d_kv, o.n_embd)
        yield from linear(f"blk.{i}.attn_output", o.n_embd, o.n_embd)
        yield norm(f"blk.{i}.ffn_norm")
        yield from linear(f"blk.{i}.ffn_gate", o.n_ff, o.n_embd)
        yield from linear(f"blk.{i}.ffn_up", o.n_ff, o.n_embd)
        yield from linear(f"blk.{i}.ffn_down", o.n_embd, o.n_ff)
    yield norm("output_norm")
    if not o.tied:
        yield from linear("output", o.n_vocab, o.n_embd)


def llama3_factors(o: TinyOptions) -> NDArray[np.float32]:
    """Divisors of the RoPE frequencies [n_rot / 2] by the rule of Llama 3.1.

    Waves longer than the original context are slowed by ``ROPE_FACTOR``, short ones are kept, and
    those between a quarter of it and the whole of it are blended.
    """
    frequency = 10000.0 ** (-np.arange(0, o.n_rot, 2) / o.n_rot)
    turns = o.context_length / ROPE_FACTOR * frequency / (2.0 * math.pi)
    keep = np.clip((turns - 1.0) / (4.0 - 1.0), 0.0, 1.0)
    factors: NDArray[np.float32] = (1.0 / ((1.0 - keep) / ROPE_FACTOR + keep)).astype(np.float32)
    return factors


def _set_version(path: Path, version: int) -> None:
    # Versions 2 and 3 differ in nothing else for little-endian files.
    with path.open("r+b") as file:
        file.seek(4)
        file.write(version.to_bytes(4, "little"))


def main() -> None:
    """Makes one file from the command line."""
    d = TinyOptions()
    parser = argparse.ArgumentParser(description="Make a tiny GGUF file with random weights.")
    parser.add_argument("output", type=Path, help="the GGUF file to write")
    parser.add_argument("--dtype", default=d.dtype, choices=FORMATS)
    parser.add_argument("--vocabulary", default=d.vocabulary, choices=get_args(VocabularyKind))
    parser.add_argument("--rope-scaling", default=d.rope_scaling, choices=get_args(RopeScaling))
    parser.add_argument("--pooling", default=None, choices=get_args(PoolingKind))
    for name in ("n_vocab", "n_embd", "n_layer", "n_head", "n_head_kv", "n_ff", "context_length"):
        flag = "--" + name.replace("_", "-")
        parser.add_argument(flag, type=int, default=getattr(d, name), help="default: %(default)s")
    parser.add_argument("--untied", dest="tied", action="store_false")
    parser.add_argument("--biases", action="store_true")
    parser.add_argument("--non-causal", dest="causal", action="store_false")
    parser.add_argument("--shards", dest="n_shards", type=int, default=1)
    parser.add_argument("--big-endian", action="store_true")
    parser.add_argument("--version", type=int, default=3, choices=(2, 3))
    parser.add_argument("--seed", type=int, default=0)
    args = vars(parser.parse_args())
    print(tiny_llama(args.pop("output"), TinyOptions(**args)))


if __name__ == "__main__":
    main()
