"""The folder where fetched models are kept, and the care that keeps its files whole."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CHUNK = 1 << 20


def cache_dir() -> Path:
    """``BACTRIAN_CACHE``, else ``$XDG_CACHE_HOME/bactrian``, else ``~/.cache/bactrian``."""
    if own := os.environ.get("BACTRIAN_CACHE"):
        return Path(own).expanduser()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).expanduser() / "bactrian"
    return Path.home() / ".cache" / "bactrian"


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds an advisory lock, so that two processes never fetch the same file at once.

    The lock belongs to the open file: it falls off if the process dies.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sha256_of(path: Path, progress: Callable[[int], None] = lambda n_bytes: None) -> str:
    """Hexadecimal SHA-256 of a file; ``progress`` gets the bytes of each chunk."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            progress(len(chunk))
    return digest.hexdigest()


def is_intact(path: Path, size: int, sha256: str) -> bool:
    """Whether ``path`` is the expected file.

    Hashing takes longer than loading, so the result is remembered in a note beside the file that
    names the size and the time of change it was true for.
    """
    try:
        stat = path.stat()
    except FileNotFoundError:
        return False
    if stat.st_size != size:
        return False
    expected_note = _note(stat, sha256)
    note = _note_path(path)
    if note.is_file() and note.read_text() == expected_note:
        return True
    if sha256_of(path) != sha256:
        return False
    # A cache that can only be read stays usable: it is hashed every time.
    with suppress(OSError):
        mark_intact(path, sha256)
    return True


def mark_intact(path: Path, sha256: str) -> None:
    """Records that the file as it is now has this hash."""
    note = _note_path(path)
    part = note.with_name(f"{note.name}.{os.getpid()}")
    part.write_text(_note(path.stat(), sha256))
    part.replace(note)


def _note(stat: os.stat_result, sha256: str) -> str:
    return f"{sha256} {stat.st_size} {stat.st_mtime_ns}\n"


def _note_path(path: Path) -> Path:
    return path.with_name(path.name + ".verified")
