"""Options that several commands share: which model, how much memory, how to sample.

Names, short names, defaults and the ``LLAMA_ARG_*`` environment variables are those that users of
llama.cpp know. The command line wins over the environment.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from bactrian.errors import InvalidArgumentError
from bactrian.hub import HUB_PREFIX
from bactrian.params import SAMPLER_NAMES, SamplingParams

_LETTERS = {spellings[-1] for spellings in SAMPLER_NAMES.values()}


def environment(name: str) -> str | None:
    """The value of ``LLAMA_ARG_<name>``, None if unset or empty."""
    return os.environ.get(f"LLAMA_ARG_{name}") or None


def environment_flag(name: str) -> bool:
    """Whether ``LLAMA_ARG_<name>`` is switched on."""
    return (environment(name) or "0").lower() in ("1", "true", "on", "yes", "enabled")


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """``-m``, ``-hf``, ``-hft``, ``--pre``, ``--offline``."""
    group = parser.add_argument_group("model (without one: SmolLM2-135M-Instruct)")
    group.add_argument(
        *("-m", "--model"),
        metavar="FILE",
        default=environment("MODEL"),
        help="GGUF file; of a split model, its first part",
    )
    group.add_argument(
        *("-hf", "-hfr", "--hf-repo"),
        metavar="USER/REPO[:QUANT]",
        default=environment("HF_REPO"),
        help="model on Hugging Face; QUANT defaults to Q4_K_M",
    )
    group.add_argument(
        *("-hft", "--hf-token"),
        metavar="TOKEN",
        help="access token for Hugging Face (default: $HF_TOKEN)",
    )
    group.add_argument(
        "--pre", metavar="NAME", help="pre-tokenizer in place of the one the file names"
    )
    group.add_argument(
        "--offline",
        action="store_true",
        default=environment_flag("OFFLINE"),
        help="use only what was fetched before",
    )


def model_reference(args: argparse.Namespace) -> str | None:
    """What the model options name, as ``bactrian.hub.resolve`` takes it."""
    if args.model is not None and args.hf_repo is not None:
        raise InvalidArgumentError("give either -m or -hf, not both")
    if args.hf_repo is not None:
        return f"{HUB_PREFIX}{args.hf_repo}"
    model: str | None = args.model
    return model


def add_context_options(parser: argparse.ArgumentParser) -> None:
    """``-c``, ``-t``, ``-ctk``, ``-ctv``."""
    group = parser.add_argument_group("context")
    group.add_argument(
        *("-c", "--ctx-size"),
        type=int,
        metavar="N",
        default=environment("CTX_SIZE") or 0,
        help="tokens of context; 0: as many as the model was trained for (default)",
    )
    group.add_argument(
        *("-t", "--threads"),
        type=int,
        metavar="N",
        default=environment("THREADS") or 0,
        help="threads; 0: as many as this process may use (default)",
    )
    for flags, name in (
        (("-ctk", "--cache-type-k"), "CACHE_TYPE_K"),
        (("-ctv", "--cache-type-v"), "CACHE_TYPE_V"),
    ):
        group.add_argument(
            *flags,
            type=str.upper,
            choices=("F32", "F16", "Q8_0"),
            default=environment(name) or "F16",
            help="type of the cached keys or values (default F16)",
        )


def add_sampling_options(parser: argparse.ArgumentParser) -> None:
    """Every sampling option; absent ones stay out of the namespace."""
    group = parser.add_argument_group("sampling")
    defaults = {f.name: f.default for f in fields(SamplingParams)}
    for flags, name, kind, text in _NUMBERS:
        group.add_argument(
            *flags,
            dest=name,
            type=kind,
            metavar="N" if kind is int else "X",
            default=_from_environment(flags),
            help=f"{text} (default {defaults[name]})",
        )
    group.add_argument(
        "--samplers",
        type=lambda text: tuple(text.split(";")),
        metavar="A;B;…",
        default=environment("SAMPLERS"),
        help="the chain: names in order, separated by ';' (default "
        f"{';'.join(SamplingParams().samplers)})",
    )
    group.add_argument(
        "--sampler-seq",
        dest="samplers",
        type=_letters,
        metavar="LETTERS",
        help="the chain as letters (default edskypmxt)",
    )
    group.add_argument(
        "--dry-sequence-breaker",
        dest="dry_sequence_breakers",
        action="append",
        metavar="TEXT",
        help="a repetition may not cross it; the first use clears the default, 'none' adds none",
    )
    group.add_argument(
        *("-l", "--logit-bias"),
        action="append",
        type=_bias,
        metavar="ID±B",
        help="add B to the logit of a token, e.g. 15043+1 or 15043-inf; may be given repeatedly",
    )
    group.add_argument(
        "--ignore-eos", action="store_true", help="never end by the model's own decision"
    )


def sampling_params(args: argparse.Namespace, **more: object) -> SamplingParams:
    """The sampling options given, over the defaults."""
    names = {f.name for f in fields(SamplingParams)}
    given = {n: v for n, v in vars(args).items() if n in names and v is not None}
    if args.logit_bias is not None:
        given["logit_bias"] = dict(args.logit_bias)
    if args.dry_sequence_breakers is not None:
        given["dry_sequence_breakers"] = tuple(
            unescape(b) for b in args.dry_sequence_breakers if b != "none"
        )
    return SamplingParams(**{**given, **more})


def unescape(text: str) -> str:
    r"""Replaces ``\n \r \t \' \" \\ \xHH`` by what they stand for; other backslashes stay."""
    plain = {"n": "\n", "r": "\r", "t": "\t", "'": "'", '"': '"', "\\": "\\"}

    def value(match: re.Match[str]) -> str:
        word = match[1]
        return chr(int(word[1:], 16)) if len(word) > 1 else plain[word]

    return re.sub(r"\\(x[0-9a-fA-F]{2}|[nrt'\"\\])", value, text)


def _from_environment(flags: tuple[str, ...]) -> str | None:
    return environment(flags[-1].removeprefix("--").replace("-", "_").upper())


def _letters(text: str) -> tuple[str, ...]:
    for letter in text:
        if letter not in _LETTERS:
            raise argparse.ArgumentTypeError(
                f"no sampler has the letter {letter!r}; known are {''.join(sorted(_LETTERS))}"
            )
    return tuple(text)


def _bias(text: str) -> tuple[int, float]:
    match = re.fullmatch(r"(\d+)([+-](?:\d+\.?\d*|\.\d+|inf))", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form ID+B or ID-B")
    return int(match[1]), float(match[2])


_Number = tuple[tuple[str, ...], str, Callable[[str], Any], str]

_NUMBERS: tuple[_Number, ...] = (
    (("-s", "--seed"), "seed", int, "seed; -1: random"),
    (("--temp", "--temperature"), "temperature", float, "0 takes the likeliest token"),
    (("--top-k",), "top_k", int, "keep the K likeliest tokens; 0: off"),
    (("--top-p",), "top_p", float, "keep the likeliest tokens up to this probability; 1: off"),
    (("--min-p",), "min_p", float, "drop tokens below this share of the best; 0: off"),
    (("--top-nsigma", "--top-n-sigma"), "top_n_sigma", float, "drop logits far below the best"),
    (("--xtc-probability",), "xtc_probability", float, "chance to exclude top choices; 0: off"),
    (("--xtc-threshold",), "xtc_threshold", float, "what counts as a top choice"),
    (("--typical", "--typical-p"), "typical_p", float, "locally typical sampling; 1: off"),
    (("--repeat-last-n",), "repeat_last_n", int, "tokens the penalties look at; 0: off"),
    (("--repeat-penalty",), "repeat_penalty", float, "penalty on repeated tokens; 1: off"),
    (("--presence-penalty",), "presence_penalty", float, "penalty once per token; 0: off"),
    (("--frequency-penalty",), "frequency_penalty", float, "penalty per occurrence; 0: off"),
    (("--dry-multiplier",), "dry_multiplier", float, "DRY repetition penalty; 0: off"),
    (("--dry-base",), "dry_base", float, "DRY: growth with the length of the repetition"),
    (("--dry-allowed-length",), "dry_allowed_length", int, "DRY: repetition that costs nothing"),
    (("--dry-penalty-last-n",), "dry_penalty_last_n", int, "DRY: tokens searched"),
    (("--adaptive-target",), "adaptive_target", float, "probability to aim for; negative: off"),
    (("--adaptive-decay",), "adaptive_decay", float, "memory of that aim"),
    (("--dynatemp-range",), "dynatemp_range", float, "half width of dynamic temperature; 0: off"),
    (("--dynatemp-exp",), "dynatemp_exponent", float, "its exponent"),
    (("--mirostat",), "mirostat", int, "1 or 2: mirostat in place of the chain; 0: off"),
    (("--mirostat-lr",), "mirostat_eta", float, "mirostat: learning rate"),
    (("--mirostat-ent",), "mirostat_tau", float, "mirostat: target surprise in bits"),
)
