"""bactrian through its batch API."""

from __future__ import annotations

import sys
from pathlib import Path

# This script has the package's name; the package must win.
sys.path.remove(str(Path(__file__).resolve().parent))
from bactrian import _core

sys.path.append(str(Path(__file__).resolve().parent))
from workloads import run

model = _core.Model(_core.GgufFile(sys.argv[1]))
context = _core.Context(model, n_ctx=4096, n_threads=int(sys.argv[2]))


def decode(rows: list[tuple[int, list[int]]]) -> None:
    batch = _core.Batch()
    for sequence, tokens in rows:
        batch.add_tokens(sequence, tokens)
    _ = context.decode(batch).logits


def clear() -> None:
    for sequence in context.sequences():
        context.remove(sequence)


run(decode, clear)
