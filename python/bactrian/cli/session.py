"""Loading a model for a command: progress on stderr, figures for ``--show-timings``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bactrian.cli.options import model_reference
from bactrian.engine.request import Timings
from bactrian.hub import resolve
from bactrian.llm import LLM
from bactrian.model import Model


@contextmanager
def loading_bar() -> Iterator[Callable[[float], None]]:
    """A bar on stderr for loads that take longer than a second, if it is a terminal."""
    from tqdm import tqdm

    with tqdm(
        total=1.0, desc="loading", delay=1.0, disable=None, leave=False, bar_format="{l_bar}{bar}|"
    ) as bar:

        def at(share: float) -> None:
            bar.update(share - bar.n)

        yield at


def load_model(args: argparse.Namespace) -> Model:
    """The model that the command line names."""
    path = resolve(model_reference(args), offline=args.offline, token=args.hf_token)
    template = getattr(args, "chat_template", None)
    with loading_bar() as progress:
        return Model(
            path,
            pre=args.pre,
            n_threads=max(0, getattr(args, "threads", 0)),
            chat_template=template,
            progress=progress,
        )


def load_llm(args: argparse.Namespace) -> tuple[LLM, float]:
    """The model with a context, and the seconds that took."""
    start = time.perf_counter()
    model = load_model(args)
    llm = LLM(
        model,
        n_ctx=args.ctx_size,
        n_threads=max(0, args.threads),
        dtype_k=args.cache_type_k,
        dtype_v=args.cache_type_v,
    )
    return llm, time.perf_counter() - start


def show_timings(timings: Timings, load_seconds: float) -> None:
    """Speeds of one answer on stderr."""
    n_evaluated = timings.n_prompt - timings.n_cached
    lines = (
        f"load    {load_seconds:8.2f} s",
        f"prompt  {timings.prompt_seconds:8.2f} s  {n_evaluated:6d} tokens "
        f"{timings.prompt_per_second:8.1f} tokens/s  ({timings.n_cached} more from the cache)",
        f"answer  {timings.generation_seconds:8.2f} s  {timings.n_generated:6d} tokens "
        f"{timings.generated_per_second:8.1f} tokens/s",
    )
    print("\n" + "\n".join(lines), file=sys.stderr)
