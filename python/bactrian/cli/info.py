"""``bactrian info``: what is in a model file and how much memory it takes."""

from __future__ import annotations

import argparse
import json
from collections import Counter

import numpy as np

from bactrian.cli.options import add_model_options
from bactrian.cli.session import load_model
from bactrian.errors import InvalidArgumentError
from bactrian.model import Model

#: Longer arrays are told by their length alone.
_ITEMS_SHOWN = 6
_CHARACTERS_SHOWN = 70


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds description, examples and options."""
    parser.description = "Shows what is in a model file and how much memory it takes."
    parser.epilog = """examples:
  bactrian info -m model.gguf             an overview
  bactrian info -m model.gguf --tensors   every tensor as well
  bactrian info -m model.gguf --json      everything, for programs"""
    add_model_options(parser)
    parser.add_argument(
        *("-c", "--ctx-size"),
        type=int,
        default=0,
        metavar="N",
        help="context to estimate the memory for; 0: what the model was trained for (default)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--tensors", action="store_true", help="list every tensor")
    form.add_argument("--json", action="store_true", help="everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Does the work; returns the exit code."""
    if args.ctx_size < 0:
        raise InvalidArgumentError(f"-c must be at least 0, not {args.ctx_size}")
    model = load_model(args)
    if args.json:
        print(json.dumps(_everything(model, args.ctx_size), ensure_ascii=False, indent=2))
        return 0
    for title, text in _overview(model, args.ctx_size):
        print(f"{title:<14}{text}")
    print("\nmetadata")
    for key, value in model.metadata.items():
        print(f"  {key:<44} {_short(value)}")
    if args.tensors:
        print("\ntensors")
        for tensor in model.tensors:
            print(f"  {tensor.name:<32} {tensor.dtype:<7} {list(tensor.shape)}")
    return 0


def _overview(model: Model, n_ctx: int) -> list[tuple[str, str]]:
    core, memory = model.core, model.memory()
    n_tokens = n_ctx or model.n_ctx_max
    formats = Counter(tensor.dtype for tensor in model.tensors)
    return [
        ("file", str(model.path)),
        ("name", str(model.metadata.get("general.name", "-"))),
        ("licence", str(model.metadata.get("general.license", "-"))),
        ("architecture", model.architecture),
        ("parameters", f"{model.n_params / 1e6:,.1f} million"),
        ("layers", f"{core.n_layer}, {core.n_head} heads ({core.n_head_kv} for keys and values)"),
        ("vocabulary", f"{model.n_vocab} tokens ({model.vocab.model}, {model.vocab.pre or '-'})"),
        ("context", f"{model.n_ctx_train} tokens"),
        ("embeddings", f"{model.n_embd} numbers, pooling {model.pooling or 'not given'}"),
        ("chat template", "yes" if model.chat_template is not None else "no"),
        ("tensors", ", ".join(f"{n} × {name}" for name, n in formats.most_common())),
        (
            "memory",
            f"{_mib(memory.total(n_tokens))} with {n_tokens} tokens of context: file "
            f"{_mib(memory.file_bytes)} (mapped), packed {_mib(memory.packed_bytes)}, cache "
            f"{_mib(memory.kv_bytes_per_token * n_tokens)} (F16)",
        ),
    ]


def _everything(model: Model, n_ctx: int) -> dict[str, object]:
    memory = model.memory()
    n_tokens = n_ctx or model.n_ctx_max
    return {
        "path": str(model.path),
        "architecture": model.architecture,
        "n_params": model.n_params,
        "n_vocab": model.n_vocab,
        "n_embd": model.n_embd,
        "n_layer": model.core.n_layer,
        "n_ctx_train": model.n_ctx_train,
        "pooling": model.pooling,
        "memory": {
            "n_ctx": n_tokens,
            "file_bytes": memory.file_bytes,
            "packed_bytes": memory.packed_bytes,
            "kv_bytes_per_token": memory.kv_bytes_per_token,
            "total_bytes": memory.total(n_tokens),
        },
        "metadata": {key: _plain(value) for key, value in model.metadata.items()},
        "tensors": [
            {"name": t.name, "dtype": t.dtype, "shape": list(t.shape), "n_bytes": t.n_bytes}
            for t in model.tensors
        ],
    }


def _plain(value: object) -> object:
    """A metadata value as JSON has it."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _short(value: object) -> str:
    """A metadata value on one line."""
    if isinstance(value, (list, np.ndarray)):
        if len(value) > _ITEMS_SHOWN:
            return f"[{len(value)} items]"
        return str(_plain(value))
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _CHARACTERS_SHOWN else text[: _CHARACTERS_SHOWN - 1] + "…"


def _mib(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f} MiB"
