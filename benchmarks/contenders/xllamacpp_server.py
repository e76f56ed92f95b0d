"""llama.cpp through the xllamacpp wheel, which offers its server in process: its own timings.

Its decode figure includes the server's loop and its sampler.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import xllamacpp

sys.path.append(str(Path(__file__).resolve().parent))
from workloads import token

# The server logs to stdout; keep that for the result alone.
stdout = os.dup(1)
os.dup2(2, 1)

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 4096
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
server = xllamacpp.Server(params)


def timings(n_prompt: int, n_predict: int) -> dict[str, float]:
    request = {
        "prompt": [token(i) for i in range(n_prompt)],
        "n_predict": n_predict,
        "ignore_eos": True,
        "cache_prompt": False,
        "temperature": 0,
    }
    answer = server.handle_completions(request)
    return answer["timings"]


timings(512, 1)
results = {
    "pp512": timings(512, 1)["prompt_per_second"],
    "tg128": timings(1, 128)["predicted_per_second"],
}
os.write(stdout, (json.dumps(results) + "\n").encode())
os._exit(0)
