"""``bactrian tokenize``: show the tokens of a text."""

from __future__ import annotations

import argparse
import json

from bactrian.cli.files import read_file, read_stdin
from bactrian.cli.options import add_model_options, model_reference
from bactrian.hub import resolve


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds description, examples and options."""
    parser.description = "Shows the tokens of a text: their ids and what each stands for."
    parser.epilog = """examples:
  bactrian tokenize -p "Hello camel"            one token a line
  bactrian tokenize -p "Hello camel" --ids      the ids alone: [19556, 38493]
  cat letter.txt | bactrian tokenize --json     for programs
  bactrian tokenize -p "<|im_end|>" --no-parse-special   as a chat message would see it"""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("-p", "--prompt", metavar="TEXT", help="the text")
    source.add_argument("-f", "--file", metavar="FILE", help="read the text from a file")
    parser.add_argument("--no-bos", action="store_true", help="add no token before or after it")
    parser.add_argument(
        "--no-parse-special",
        action="store_true",
        help="special tokens written in the text are plain text",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--ids", action="store_true", help="the ids alone, as a list")
    form.add_argument("--json", action="store_true", help="ids and pieces as JSON")
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Does the work; returns the exit code."""
    from bactrian._core import GgufFile
    from bactrian.text.tokenizer import Tokenizer

    path = resolve(model_reference(args), offline=args.offline, token=args.hf_token)
    # The vocabulary alone: weights are not needed.
    tokenizer = Tokenizer.from_metadata(GgufFile(str(path)).metadata, pre=args.pre)
    ids = tokenizer.encode(
        _text(args), add_special=not args.no_bos, parse_special=not args.no_parse_special
    )
    if args.ids:
        print(ids)
    elif args.json:
        print(
            json.dumps([_described(i, tokenizer.token_bytes(i)) for i in ids], ensure_ascii=False)
        )
    else:
        for i in ids:
            print(f"{i:7d}  {_quoted(tokenizer.token_bytes(i))}")
    return 0


def _text(args: argparse.Namespace) -> str:
    if args.prompt is not None:
        text: str = args.prompt
        return text
    if args.file is not None:
        return read_file(args.file)
    return read_stdin()


def _described(token: int, data: bytes) -> dict[str, object]:
    return {"id": token, "text": data.decode("utf-8", "replace"), "bytes": list(data)}


def _quoted(data: bytes) -> str:
    """A token in quotes; in hexadecimal escapes if it is no whole character."""
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data).removeprefix("b")
