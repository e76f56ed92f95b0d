"""How errors are told to people at a terminal."""

from __future__ import annotations


def one_line(error: Exception) -> str:
    """What went wrong, on one line and without Python's own notation."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    return " ".join(text.split()) or type(error).__name__
