"""The workloads, in terms of one function that every contender supplies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

#: decode(rows): evaluates [(sequence, tokens)], logits for the last token of each sequence.
Decode = Callable[[list[tuple[int, list[int]]]], None]


def token(i: int) -> int:
    """Arbitrary ids inside every vocabulary of more than 1,100 tokens."""
    return 100 + (i * 7919) % 1000


def run(decode: Decode, clear: Callable[[], None]) -> None:
    """Times all workloads and prints tokens/s as one JSON line."""

    def steps(n_steps: int, n_sequences: int) -> float:
        clear()
        decode([(s, [token(s)]) for s in range(n_sequences)])
        start = time.perf_counter()
        for i in range(n_steps):
            decode([(s, [token(i + s)]) for s in range(n_sequences)])
        return n_steps * n_sequences / (time.perf_counter() - start)

    def prefill(n_tokens: int) -> float:
        clear()
        start = time.perf_counter()
        decode([(0, [token(i) for i in range(n_tokens)])])
        return n_tokens / (time.perf_counter() - start)

    prefill(512)  # warm-up: pages touched, threads started
    results = {
        "pp512": prefill(512),
        "tg128": steps(128, 1),
        "tg32x8": steps(32, 8),
        "tg32x32": steps(32, 32),
    }
    print(json.dumps(results))
