"""The ``llama`` architecture in plain numpy: the oracle that the engine is tested against.

It shares no code with the engine: files are read by the ``gguf`` package, and every formula is
written out in the order of the papers (RMSNorm, Zhang & Sennrich 2019; RoPE, Su et al. 2021;
SwiGLU, Shazeer 2020; GQA, Ainslie et al. 2023; YaRN, Peng et al. 2023). One sequence at a time, no
cache, no batching. ``check_against_transformers.py`` shows that it is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray

Array = NDArray[Any]
RopeLayout = Literal["norm", "neox"]
Pooling = Literal["none", "mean", "cls", "last"]


def shard_paths(path: Path) -> list[Path]:
    """All files of a split set, given its first; ``[path]`` for a file that is not split."""
    split = re.fullmatch(r"(.*)-00001-of-(\d{5})\.gguf", path.name)
    if split is None:
        return [path]
    stem, count = split.group(1), int(split.group(2))
    return [path.with_name(f"{stem}-{i + 1:05d}-of-{count:05d}.gguf") for i in range(count)]


def read_gguf(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Metadata without the vocabulary, and every tensor as float32 in numpy's order of axes."""
    metadata: dict[str, Any] = {}
    tensors: dict[str, NDArray[np.float32]] = {}
    for file in shard_paths(path):
        reader = GGUFReader(file)
        for key, field in reader.fields.items():
            if not key.startswith("tokenizer."):
                metadata[key] = field.contents()
        for tensor in reader.tensors:
            # A copy, because gguf hands out views of its file mapping.
            tensors[tensor.name] = np.array(dequantize(tensor.data, tensor.tensor_type))
    return metadata, tensors


@dataclass(frozen=True)
class Hyperparameters:
    """What the metadata says of a ``llama`` model; defaults are those of the GGUF convention."""

    n_embd: int
    n_layer: int
    n_head: int
    n_head_kv: int
    key_length: int  # elements of one head of q and k
    value_length: int  # elements of one head of v
    norm_eps: float
    causal: bool
    rope_dims: int  # leading elements of each head that rotate
    rope_base: float
    rope_scaling: str  # "none", "linear" or "yarn"
    rope_factor: float
    rope_attn_factor: float
    original_context: int
    yarn_ext_factor: float
    yarn_beta_fast: float
    yarn_beta_slow: float

    @classmethod
    def from_metadata(cls, metadata: dict[str, Any]) -> Hyperparameters:
        def get(key: str, default: Any = None) -> Any:
            value = metadata.get(f"llama.{key}", default)
            if value is None:
                raise KeyError(f"llama.{key}")
            return value

        n_embd, n_head = get("embedding_length"), get("attention.head_count")
        key_length = get("attention.key_length", n_embd // n_head)
        return cls(
            n_embd=n_embd,
            n_layer=get("block_count"),
            n_head=n_head,
            n_head_kv=get("attention.head_count_kv", n_head),
            key_length=key_length,
            value_length=get("attention.value_length", n_embd // n_head),
            norm_eps=get("attention.layer_norm_rms_epsilon"),
            causal=get("attention.causal", True),
            rope_dims=get("rope.dimension_count", key_length),
            rope_base=get("rope.freq_base", 10000.0),
            rope_scaling=get("rope.scaling.type", "linear"),
            rope_factor=get("rope.scaling.factor", get("rope.scale_linear", 1.0)),
            rope_attn_factor=get("rope.scaling.attn_factor", 1.0),
            original_context=get("rope.scaling.original_context_length", get("context_length")),
            yarn_ext_factor=get("rope.scaling.yarn_ext_factor", 1.0),
            yarn_beta_fast=get("rope.scaling.yarn_beta_fast", 32.0),
            yarn_beta_slow=get("rope.scaling.yarn_beta_slow", 1.0),
        )


def rope_frequencies(hp: Hyperparameters, factors: Array | None) -> tuple[Array, float]:
    """Angle per position of each rotating pair [rope_dims / 2], and the magnitude of cos and sin.

    ``factors`` is the tensor ``rope_freqs`` (llama3 scaling), by which the frequencies are divided.
    """
    pair = np.arange(hp.rope_dims // 2, dtype=np.float64)
    frequency = hp.rope_base ** (-2.0 * pair / hp.rope_dims)
    if factors is not None:
        frequency = frequency / factors
    if hp.rope_scaling == "none":
        return frequency, hp.rope_attn_factor
    interpolated = frequency / hp.rope_factor
    if hp.rope_scaling == "linear":
        return interpolated, hp.rope_attn_factor
    if hp.rope_scaling != "yarn":
        raise ValueError(f"rope.scaling.type {hp.rope_scaling!r} is not none, linear or yarn")

    def pair_that_turns(rotations: float) -> float:
        # The pair that makes this many turns over the original context, as a real number.
        wavelength = hp.original_context / (rotations * 2.0 * np.pi)
        return float(hp.rope_dims * np.log(wavelength) / (2.0 * np.log(hp.rope_base)))

    low = max(np.floor(pair_that_turns(hp.yarn_beta_fast)), 0.0)
    high = min(np.ceil(pair_that_turns(hp.yarn_beta_slow)), hp.rope_dims - 1.0)
    keep = 1.0 - np.clip((pair - low) / max(high - low, 0.001), 0.0, 1.0)
    keep = keep * hp.yarn_ext_factor
    magnitude = hp.rope_attn_factor * (1.0 + 0.1 * np.log(hp.rope_factor))
    return interpolated * (1.0 - keep) + frequency * keep, magnitude


def rotate(x: Array, cos: Array, sin: Array, layout: RopeLayout) -> Array:
    """RoPE of x [n_tokens, n_head, length] by cos and sin [n_tokens, rope_dims / 2].

    ``norm`` turns adjacent elements (2i, 2i+1), ``neox`` the elements (i, i + rope_dims / 2).
    """
    half = cos.shape[-1]
    first, second = (
        (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
        if layout == "norm"
        else (slice(0, half), slice(half, 2 * half))
    )
    cos, sin = cos[:, None, :], sin[:, None, :]
    out: Array = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


def softmax(x: Array) -> Array:
    p: Array = np.exp(log_softmax(x))
    return p


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True)
    logp: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return logp


def pool(hidden: Array, kind: Pooling) -> Array:
    """Pooled embedding of one sequence: [n_tokens, n_embd] -> [n_embd] (``none``: unchanged)."""
    pooled: dict[Pooling, Array] = {
        "none": hidden,
        "mean": hidden.mean(axis=0),
        "cls": hidden[0],
        "last": hidden[-1],
    }
    return pooled[kind]


class Llama:
    """A model held in memory in ``dtype``, float64 unless the caller wants float32.

    ``causal`` overrides ``llama.attention.causal`` of the file.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        dtype: type[np.floating[Any]] = np.float64,
        rope_layout: RopeLayout = "norm",
        causal: bool | None = None,
    ) -> None:
        metadata, tensors = read_gguf(Path(path))
        self.hp = Hyperparameters.from_metadata(metadata)
        self.causal = self.hp.causal if causal is None else causal
        self.rope_layout: RopeLayout = rope_layout
        self.dtype = dtype
        self.weights = {name: tensor.astype(dtype) for name, tensor in tensors.items()}
        self.weights.setdefault("output.weight", self.weights["token_embd.weight"])

    def forward(self, tokens: list[int]) -> tuple[Array, Array]:
        """Logits [n_tokens, n_vocab] and hidden states after ``output_norm`` [n_tokens, n_embd]."""
        hp = self.hp
        frequency, magnitude = rope_frequencies(hp, self.weights.get("rope_freqs.weight"))
        angle = np.arange(len(tokens), dtype=np.float64)[:, None] * frequency
        cos = (np.cos(angle) * magnitude).astype(self.dtype)
        sin = (np.sin(angle) * magnitude).astype(self.dtype)

        x = self.weights["token_embd.weight"][tokens]
        for layer in range(hp.n_layer):
            name = f"blk.{layer}"
            x = x + self._attention(name, self._norm(f"{name}.attn_norm", x), cos, sin)
            x = x + self._feed_forward(name, self._norm(f"{name}.ffn_norm", x))
        hidden = self._norm("output_norm", x)
        return self._linear("output", hidden), hidden

    def greedy(self, tokens: list[int], n_tokens: int, stop: frozenset[int]) -> list[int]:
        """The most likely continuation, token by token, up to and with the first of ``stop``."""
        new: list[int] = []
        while len(new) < n_tokens and not (new and new[-1] in stop):
            logits, _ = self.forward(tokens + new)
            new.append(int(logits[-1].argmax()))
        return new

    def _linear(self, name: str, x: Array) -> Array:
        y: Array = x @ self.weights[f"{name}.weight"].T
        bias = self.weights.get(f"{name}.bias")
        return y if bias is None else y + bias

    def _norm(self, name: str, x: Array) -> Array:
        rms = np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.dtype(self.hp.norm_eps))
        y: Array = x / rms * self.weights[f"{name}.weight"]
        return y

    def _attention(self, name: str, x: Array, cos: Array, sin: Array) -> Array:
        hp, n = self.hp, len(x)
        q = self._linear(f"{name}.attn_q", x).reshape(n, hp.n_head, hp.key_length)
        k = self._linear(f"{name}.attn_k", x).reshape(n, hp.n_head_kv, hp.key_length)
        v = self._linear(f"{name}.attn_v", x).reshape(n, hp.n_head_kv, hp.value_length)
        q, k = rotate(q, cos, sin, self.rope_layout), rotate(k, cos, sin, self.rope_layout)

        future = np.triu(np.ones((n, n), dtype=bool), k=1)
        heads_per_kv = hp.n_head // hp.n_head_kv
        out = np.empty((n, hp.n_head, hp.value_length), dtype=self.dtype)
        for head in range(hp.n_head):
            kv = head // heads_per_kv
            scores = q[:, head] @ k[:, kv].T / self.dtype(np.sqrt(hp.key_length))
            if self.causal:
                scores[future] = -np.inf
            out[:, head] = softmax(scores) @ v[:, kv]
        return self._linear(f"{name}.attn_output", out.reshape(n, -1))

    def _feed_forward(self, name: str, x: Array) -> Array:
        gate = self._linear(f"{name}.ffn_gate", x)
        silu = gate / (1.0 + np.exp(-gate))
        return self._linear(f"{name}.ffn_down", silu * self._linear(f"{name}.ffn_up", x))
