"""llama.cpp through llama-cpp-python's low-level API (module ``llama_cpp``)."""

from __future__ import annotations

import sys
from pathlib import Path

import llama_cpp

sys.path.append(str(Path(__file__).resolve().parent))
from workloads import run

llama_cpp.llama_backend_init()
model_params = llama_cpp.llama_model_default_params()
model = llama_cpp.llama_model_load_from_file(sys.argv[1].encode(), model_params)
params = llama_cpp.llama_context_default_params()
params.n_ctx = 4096
params.n_batch = 2048
params.n_ubatch = 512
params.n_seq_max = 32
params.kv_unified = True
params.n_threads = params.n_threads_batch = int(sys.argv[2])
context = llama_cpp.llama_init_from_model(model, params)
memory = llama_cpp.llama_get_memory(context)
batch = llama_cpp.llama_batch_init(2048, 0, 32)
lengths: dict[int, int] = {}


def decode(rows: list[tuple[int, list[int]]]) -> None:
    n = 0
    for sequence, tokens in rows:
        start = lengths.get(sequence, 0)
        for i, token in enumerate(tokens):
            batch.token[n] = token
            batch.pos[n] = start + i
            batch.n_seq_id[n] = 1
            batch.seq_id[n][0] = sequence
            batch.logits[n] = i == len(tokens) - 1
            n += 1
        lengths[sequence] = start + len(tokens)
    batch.n_tokens = n
    if llama_cpp.llama_decode(context, batch) != 0:
        sys.exit("llama_decode failed")
    llama_cpp.llama_get_logits(context)


def clear() -> None:
    llama_cpp.llama_memory_clear(memory, True)
    lengths.clear()


run(decode, clear)
