"""Names and layout of llama weights in transformers, from those in GGUF files."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

_OUTER = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
_IN_BLOCK = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def transformers_name(gguf_name: str) -> str:
    """``blk.3.attn_q.weight`` -> ``model.layers.3.self_attn.q_proj.weight``."""
    if not gguf_name.startswith("blk."):
        base, suffix = gguf_name.split(".")
        return f"{_OUTER[base]}.{suffix}"
    _, layer, base, suffix = gguf_name.split(".")
    return f"model.layers.{layer}.{_IN_BLOCK[base]}.{suffix}"


def transformers_rows(
    gguf_name: str, values: NDArray[Any], n_head: int, n_head_kv: int
) -> NDArray[Any]:
    """A weight or bias with the rows of q and k in transformers' order.

    GGUF llama files are laid out for rotating adjacent elements, transformers rotates halves: the
    rows of each head go from (pair, 2) to (2, pair) order.
    """
    heads = {"attn_q": n_head, "attn_k": n_head_kv}.get(gguf_name.split(".")[-2])
    if heads is None:
        return values
    pairs = values.reshape(heads, len(values) // heads // 2, 2, *values.shape[1:])
    return pairs.swapaxes(1, 2).reshape(values.shape)
