"""Runs transformers' LlamaForCausalLM on the tiny models and stores what it says.

Needs torch==2.13.0 (CPU), transformers==5.24.0, gguf==0.19.0 and numpy. From the repository root:

    PYTHONPATH=models:tests python tests/reference/check_against_transformers.py

Prints the largest difference to the numpy llama in each case, and writes
``llama_transformers.npz``: ``<case>.logits`` [len(POSITIONS), n_vocab], and ``<case>.mean``
[n_embd], the mean of the hidden states after the last norm. ``test_llama_reference.py`` compares
the numpy llama with it. Weights and sums are float64 here, but transformers computes RoPE angles in
float32; that bounds agreement to about 1e-5.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from make_tiny import ROPE_FACTOR, TinyOptions, tiny_llama
from reference.llama import Llama
from reference.llama_cases import CASES, GOLDEN, POSITIONS, Case, case_tokens
from reference.transformers_llama import transformers_name, transformers_rows


def rope_parameters(o: TinyOptions) -> dict[str, Any]:
    base = {"rope_theta": 10000.0}
    original = {"original_max_position_embeddings": int(o.context_length / ROPE_FACTOR)}
    factor = {"factor": ROPE_FACTOR}
    if o.rope_scaling == "llama3":
        blend = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
        return {"rope_type": "llama3", **base, **factor, **original, **blend}
    if o.rope_scaling == "yarn":
        return {"rope_type": "yarn", **base, **factor, **original}
    if o.rope_scaling == "linear":
        return {"rope_type": "linear", **base, **factor}
    return {"rope_type": "default", **base}


def transformers_model(case: Case, reference: Llama) -> LlamaForCausalLM:
    o = case.options
    config = LlamaConfig(
        vocab_size=o.n_vocab,
        hidden_size=o.n_embd,
        intermediate_size=o.n_ff,
        num_hidden_layers=o.n_layer,
        num_attention_heads=o.n_head,
        num_key_value_heads=o.n_head_kv,
        max_position_embeddings=o.context_length,
        rms_norm_eps=reference.hp.norm_eps,
        tie_word_embeddings=o.tied,
        attention_bias=o.biases,
        mlp_bias=o.biases,
        rope_parameters=rope_parameters(o),
    )
    model = LlamaForCausalLM(config).double().eval()
    if o.biases:
        model.lm_head.bias = torch.nn.Parameter(torch.zeros(o.n_vocab, dtype=torch.float64))
    state = {}
    for name, values in reference.weights.items():
        if name == "rope_freqs.weight":
            continue
        if case.rope_layout == "norm":
            values = transformers_rows(name, values, o.n_head, o.n_head_kv)
        state[transformers_name(name)] = torch.from_numpy(np.ascontiguousarray(values))
    model.load_state_dict(state, strict=True)
    return model


@torch.no_grad()
def run(model: LlamaForCausalLM, tokens: list[int], *, causal: bool) -> tuple[Any, Any]:
    mask = None if causal else torch.zeros(1, 1, len(tokens), len(tokens), dtype=torch.float64)
    out = model(torch.tensor([tokens]), attention_mask=mask, output_hidden_states=True)
    return out.logits[0].numpy(), out.hidden_states[-1][0].numpy()


def main() -> None:
    tokens = case_tokens()
    golden: dict[str, np.ndarray] = {}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = tiny_llama(Path(folder) / "model.gguf", case.options)
            reference = Llama(path, rope_layout=case.rope_layout)
        logits, hidden = run(
            transformers_model(case, reference), tokens, causal=case.options.causal
        )
        ours, our_hidden = reference.forward(tokens)
        print(f"{name:14} {abs(logits - ours).max():.1e} {abs(hidden - our_hidden).max():.1e}")
        golden[f"{name}.logits"] = logits[list(POSITIONS)].astype(np.float32)
        golden[f"{name}.mean"] = hidden.mean(axis=0).astype(np.float32)
    np.savez_compressed(GOLDEN, **golden)


if __name__ == "__main__":
    main()
