"""Text that the command line reads."""

import io
import sys

import pytest

from bactrian.cli import files
from bactrian.errors import InvalidArgumentError


def test_text_is_read_with_plain_line_ends(tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_bytes("één\r\ntwo\r".encode())
    assert files.read_file(str(path)) == "één\ntwo\n"


def test_what_never_ends_is_refused():
    with pytest.raises(InvalidArgumentError, match="/dev/zero holds more than 50000000 characters"):
        files.read_file("/dev/zero")


def test_bytes_that_are_no_text_are_named(tmp_path):
    path = tmp_path / "prompt.bin"
    path.write_bytes(b"a\xff")
    with pytest.raises(InvalidArgumentError, match=r"prompt\.bin is not UTF-8 text"):
        files.read_file(str(path))


def test_standard_input_is_named(monkeypatch):
    monkeypatch.setattr(
        sys,
        "stdin",
        io.TextIOWrapper(io.BytesIO(b"a\xff"), errors="surrogateescape", encoding="utf-8"),
    )
    with pytest.raises(InvalidArgumentError, match="standard input is not UTF-8 text"):
        files.read_stdin()
