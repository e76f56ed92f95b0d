"""``bactrian pull``: fetch a model and print where it is."""

from __future__ import annotations

import argparse

from bactrian.cli.options import add_model_options, model_reference
from bactrian.hub import resolve


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds description, examples and options."""
    parser.description = (
        "Fetches a model unless it was fetched before, and prints the path of its file on stdout."
    )
    parser.epilog = """examples:
  bactrian pull                                            the default model
  bactrian pull hf:bartowski/SmolLM2-135M-Instruct-GGUF    a model on Hugging Face (Q4_K_M)
  bactrian pull -hf user/repo:Q8_0                         the same, another quantisation

Kept in $BACTRIAN_CACHE (default ~/.cache/bactrian); models from Hugging Face in its own cache."""
    parser.add_argument(
        "reference", nargs="?", metavar="hf:USER/REPO[:QUANT]", help="model on Hugging Face"
    )
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Does the work; returns the exit code."""
    reference = args.reference or model_reference(args)
    print(resolve(reference, offline=args.offline, token=args.hf_token))
    return 0
