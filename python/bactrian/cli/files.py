"""Text from files and standard input: bounded, UTF-8, and named when something is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from bactrian.errors import InvalidArgumentError

#: Far beyond any context; stops what never ends, such as a device.
MAX_CHARACTERS = 50_000_000


def read_file(path: str) -> str:
    """The text of a file. Raises OSError, or InvalidArgumentError if it is too large or no text."""
    with Path(path).expanduser().open(encoding="utf-8") as stream:
        return _read(stream, path)


def read_stdin() -> str:
    """All of standard input. Raises InvalidArgumentError if it is too large or no text."""
    return _read(sys.stdin, "standard input")


def _read(stream: TextIO, name: str) -> str:
    try:
        text = stream.read(MAX_CHARACTERS + 1)
        # Standard input may let bytes that are no text through as lone surrogates.
        text.encode("utf-8")
    except UnicodeError as error:
        raise InvalidArgumentError(f"{name} is not UTF-8 text: {error}") from error
    if len(text) > MAX_CHARACTERS:
        raise InvalidArgumentError(f"{name} holds more than {MAX_CHARACTERS} characters")
    return text
