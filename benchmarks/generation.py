#!/usr/bin/env python3
"""Prefill and decode speed of bactrian and its peers on one file, side by side.

Each contender is a script in ``contenders/`` that runs in an interpreter of its own and prints one
JSON object of tokens/s by workload. Rounds are interleaved (A B C, A B C, …), medians are printed
with the spread, and the machine's read bandwidth is measured in every round.

    python3 benchmarks/generation.py model.gguf --threads 2 --rounds 5 \\
        --contender bactrian=.venv/bin/python --contender llama_cpp=/path/to/python

Workloads: ``pp512`` a prompt of 512 tokens; ``tg128`` 128 tokens one at a time; ``tg32x8`` and
``tg32x32`` 32 steps with 8 and 32 sequences. Token ids are arbitrary and nothing is sampled: the
model's arithmetic alone is timed. ``read`` is GB/s of reading 512 MB with all threads.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

CONTENDERS = Path(__file__).resolve().parent / "contenders"


def read_bandwidth(n_threads: int) -> float:
    """GB/s of summing 64 MB per thread, eight times; numpy's sum releases the GIL."""
    arrays = [np.ones(16 << 20, dtype=np.float32) for _ in range(n_threads)]

    def work(array: np.ndarray) -> None:
        for _ in range(8):
            array.view(np.int64).max()

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 8 * sum(array.nbytes for array in arrays) / (time.perf_counter() - start) / 1e9


def run_contender(name: str, python: str, model: str, n_threads: int) -> dict[str, float]:
    """One round of one contender, in a process of its own."""
    command = [python, str(CONTENDERS / f"{name}.py"), model, str(n_threads)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{name} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def processor() -> str:
    """Model name and number of processors."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    name = next((s.split(":")[1].strip() for s in lines if s.startswith("model name")), "?")
    return f"{name}, {os.cpu_count()} processors, {platform.system()} {platform.release()}"


def main() -> None:
    """Runs the rounds and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--contender", action="append", metavar="NAME=PYTHON", help="script name and interpreter"
    )
    args = parser.parse_args()
    contenders = dict(c.split("=", 1) for c in args.contender or [f"bactrian={sys.executable}"])
    results: dict[str, dict[str, list[float]]] = {name: {} for name in contenders}
    bandwidth: list[float] = []
    for round_number in range(args.rounds):
        bandwidth.append(read_bandwidth(args.threads))
        for name, python in contenders.items():
            print(f"round {round_number + 1}/{args.rounds}: {name}", file=sys.stderr)
            for workload, speed in run_contender(name, python, args.model, args.threads).items():
                results[name].setdefault(workload, []).append(speed)
    print(f"machine: {processor()}; {args.threads} threads, {args.rounds} rounds, median (min–max)")
    print(f"read: {statistics.median(bandwidth):.1f} GB/s")
    workloads = list(dict.fromkeys(w for by_workload in results.values() for w in by_workload))
    print("| contender | " + " | ".join(workloads) + " |")
    print("| --- |" + " --- |" * len(workloads))
    for name, by_workload in results.items():
        cells = []
        for workload in workloads:
            speeds = by_workload.get(workload)
            cells.append(
                f"{statistics.median(speeds):.0f} ({min(speeds):.0f}–{max(speeds):.0f})"
                if speeds
                else "–"
            )
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
