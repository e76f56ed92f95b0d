"""The ``bactrian`` command: finds the subcommand, runs it, turns errors into one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from bactrian.cli.report import one_line
from bactrian.errors import BactrianError

#: Subcommand -> its line in the help. Each is one module of this package, imported when used.
COMMANDS = {
    "run": "answer a prompt, or chat in the terminal",
    "tokenize": "show the tokens of a text",
    "info": "show what is in a model file and how much memory it takes",
    "pull": "fetch a model and print where it is",
}

_EPILOG = """examples:
  bactrian run -p "What is a camel's hump made of?"     the default model answers
  bactrian run                                          chat with it
  bactrian run -m model.gguf -p "Once upon a time"      your own GGUF file
  bactrian COMMAND --help                               everything about one command
"""

INTERRUPTED = 130


class Command(Protocol):
    """What a subcommand's module offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Adds description, examples and options."""

    def run(self, args: argparse.Namespace) -> int:
        """Does the work; returns the exit code."""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, like all others of this program."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\nTry `{self.prog} --help`.\n")


class _Version(argparse.Action):
    """``--version``, which needs the native part and so must not cost anything otherwise."""

    def __call__(self, parser: argparse.ArgumentParser, *unused: object) -> None:
        from bactrian import _core

        build, isa = _core.build_info(), _core.selected_isa()
        print(f"bactrian {build['version']}")
        print(f"kernels  {isa} (of {', '.join(_core.supported_isas())})")
        print(f"backends {build['backends']}")
        print(f"built by {build['compiler']}, {build['build_type']}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the ``bactrian`` command; returns the exit code.

    0: done; 1: it could not be done, one line on stderr says why; 2: wrong usage; 130: Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`): nothing more to say, not even while Python shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (BactrianError, OSError, UnicodeError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return 1


def _dispatch(words: Sequence[str]) -> int:
    parser = _Parser(
        prog="bactrian",
        description="Completions and embeddings from one GGUF model, on your own machine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show version, kernels and build"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    chosen: Command | None = None
    first = next((word for word in words if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name == first:
            chosen = cast(Command, import_module(f"bactrian.cli.{name}"))
            chosen.configure(sub)
    if not words:
        parser.print_help()
        return 0
    args = parser.parse_args(words)
    if chosen is None:
        parser.error(f"name a command: {', '.join(COMMANDS)}")
    code = chosen.run(args)
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
