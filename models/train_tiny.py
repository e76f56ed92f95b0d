"""Trains the tiny model that is committed as ``tiny-camel.gguf``.

Needs torch==2.13.0 (CPU), gguf==0.19.0 and numpy; takes about ten minutes on one core:

    python models/train_tiny.py models/tiny-camel.gguf

The model learns the text of ``tiny_text.py`` by heart. So that its answers outlive quantisation to
any format, each step rounds every matrix the way a random format would, and passes gradients
straight through the rounding (quantisation-aware training, Jacob et al. 2018).
"""

from __future__ import annotations

import argparse
import math
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from gguf import GGUFWriter
from torch import Tensor, nn

from fake_quant import random_format
from formats import FORMATS, add_matrix, quantize
from tiny_text import STORIES, all_text, chat_pairs
from vocabulary import BpeEncoder, Vocabulary, bpe_vocabulary

N_VOCAB, N_EMBD, N_LAYER, N_HEAD, N_HEAD_KV, N_FF = 512, 256, 2, 4, 2, 256
N_CTX = 512
D_HEAD = N_EMBD // N_HEAD
ROPE_BASE = 10000.0
NORM_EPS = 1e-5
IGNORE = -100  # target of tokens that are read but not learned


def rope_table(n_tokens: int) -> tuple[Tensor, Tensor]:
    """Cos and sin [n_tokens, D_HEAD / 2]."""
    frequency = ROPE_BASE ** (-torch.arange(0, D_HEAD, 2) / D_HEAD)
    angle = torch.arange(n_tokens)[:, None] * frequency
    return angle.cos(), angle.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoPE over adjacent elements of x [batch, n_head, n_tokens, D_HEAD]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


class TinyLlama(nn.Module):
    """Parameters under the names that GGUF gives them, with "." as "/" for torch's sake."""

    def __init__(self) -> None:
        super().__init__()
        d_kv = N_HEAD_KV * D_HEAD
        shapes = {"token_embd": (N_VOCAB, N_EMBD), "output_norm": (N_EMBD,)}
        for i in range(N_LAYER):
            shapes |= {
                f"blk/{i}/attn_norm": (N_EMBD,),
                f"blk/{i}/attn_q": (N_EMBD, N_EMBD),
                f"blk/{i}/attn_k": (d_kv, N_EMBD),
                f"blk/{i}/attn_v": (d_kv, N_EMBD),
                f"blk/{i}/attn_output": (N_EMBD, N_EMBD),
                f"blk/{i}/ffn_norm": (N_EMBD,),
                f"blk/{i}/ffn_gate": (N_FF, N_EMBD),
                f"blk/{i}/ffn_up": (N_FF, N_EMBD),
                f"blk/{i}/ffn_down": (N_EMBD, N_FF),
            }
        self.weights = nn.ParameterDict(
            {
                name: torch.ones(shape) if len(shape) == 1 else 0.04 * torch.randn(shape)
                for name, shape in shapes.items()
            }
        )

    def forward(self, tokens: Tensor, *, rounded: bool) -> Tensor:
        """Logits [batch, n_tokens, N_VOCAB] of tokens [batch, n_tokens]."""
        w = {
            name: random_format(p) if rounded and p.dim() == 2 else p
            for name, p in self.weights.items()
        }
        n_batch, n_tokens = tokens.shape
        cos, sin = rope_table(n_tokens)

        def norm(name: str, x: Tensor) -> Tensor:
            return F.rms_norm(x, (N_EMBD,), w[name], NORM_EPS)

        def heads(name: str, x: Tensor) -> Tensor:
            return F.linear(x, w[name]).view(n_batch, n_tokens, -1, D_HEAD).transpose(1, 2)

        x = F.embedding(tokens, w["token_embd"])
        for i in range(N_LAYER):
            y = norm(f"blk/{i}/attn_norm", x)
            q = rotate(heads(f"blk/{i}/attn_q", y), cos, sin)
            k = rotate(heads(f"blk/{i}/attn_k", y), cos, sin)
            v = heads(f"blk/{i}/attn_v", y)
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + F.linear(out.transpose(1, 2).flatten(2), w[f"blk/{i}/attn_output"])
            y = norm(f"blk/{i}/ffn_norm", x)
            gated = F.silu(F.linear(y, w[f"blk/{i}/ffn_gate"])) * F.linear(y, w[f"blk/{i}/ffn_up"])
            x = x + F.linear(gated, w[f"blk/{i}/ffn_down"])
        return F.linear(norm("output_norm", x), w["token_embd"])


class Examples:
    """Random sequences: sometimes a story, then chat turns in random order."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        encoder = BpeEncoder(vocabulary)
        start, end = encoder.control("<|im_start|>"), encoder.control("<|im_end|>")
        newline = encoder.encode("\n")
        self._stories = [[*encoder.encode(story), end] for story in STORIES]
        self._newline = newline
        self._turns = []
        for question, answer in chat_pairs():
            asked = [start, *encoder.encode("user\n" + question), end, *newline]
            asked += [start, *encoder.encode("assistant\n")]
            self._turns.append((asked, [*encoder.encode(answer), end]))

    def sequence(self, n_tokens: int) -> tuple[list[int], list[int]]:
        """Tokens and targets; only answers and stories are targets."""
        tokens: list[int] = []
        learned: list[bool] = []

        def add(part: list[int], learn: bool) -> None:
            tokens.extend(part)
            learned.extend([learn] * len(part))

        if random.random() < 0.25:
            add(random.choice(self._stories), True)
            add(self._newline, False)
        while len(tokens) <= n_tokens:
            asked, answer = random.choice(self._turns)
            add(asked, False)
            add(answer, True)
            add(self._newline, False)
        targets = [t if learn else IGNORE for t, learn in zip(tokens, learned, strict=True)]
        return tokens[:n_tokens], targets[1 : n_tokens + 1]

    def batch(self, n_sequences: int, n_tokens: int) -> tuple[Tensor, Tensor]:
        """Tokens and targets, each [n_sequences, n_tokens]."""
        rows = [self.sequence(n_tokens) for _ in range(n_sequences)]
        return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


def train(model: TinyLlama, examples: Examples, n_steps: int) -> None:
    """AdamW with a linear warm-up and cosine decay."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.0, betas=(0.9, 0.98), weight_decay=0.01)
    started = time.monotonic()
    for step in range(n_steps):
        rate = 3e-3 * min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * step / n_steps))
        optimizer.param_groups[0]["lr"] = rate + 1e-5
        # Mostly short sequences; now and then the whole context, so that late positions work too.
        tokens, targets = examples.batch(*((4, N_CTX) if step % 8 == 7 else (16, 128)))
        logits = model(tokens, rounded=True)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f} {time.monotonic() - started:.0f} s")


def save(model: TinyLlama, vocabulary: Vocabulary, path: Path) -> None:
    """Writes a GGUF file: matrices in F16, norms in F32."""
    writer = GGUFWriter(path, "llama")
    writer.add_name("Tiny Camel")
    writer.add_description("A toy that knows a page of text by heart, for tests and examples")
    writer.add_license("mit")
    writer.add_file_type(FORMATS["F16"])
    writer.add_context_length(N_CTX)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(N_LAYER)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_head_count_kv(N_HEAD_KV)
    writer.add_rope_dimension_count(D_HEAD)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(NORM_EPS)
    writer.add_vocab_size(N_VOCAB)
    vocabulary.write(writer)
    for name, parameter in model.weights.items():
        values = parameter.detach().numpy().astype(np.float32)
        gguf_name = name.replace("/", ".") + ".weight"
        if values.ndim == 1:
            writer.add_tensor(gguf_name, values)
        else:
            add_matrix(writer, gguf_name, values, "F16", quantize)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Trains, then writes the file."""
    parser = argparse.ArgumentParser(description="Train the tiny model.")
    parser.add_argument("output", type=Path, help="the GGUF file to write")
    parser.add_argument("--steps", type=int, default=2400, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    random.seed(1)
    vocabulary = bpe_vocabulary(all_text(), N_VOCAB)
    model = TinyLlama()
    train(model, Examples(vocabulary), args.steps)
    save(model, vocabulary, args.output)


if __name__ == "__main__":
    main()
