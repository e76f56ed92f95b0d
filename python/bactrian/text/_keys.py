"""Checked access to GGUF metadata: a wrong type or length is an error that names the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bactrian.errors import FileFormatError

Metadata = Mapping[str, object]


def get_str(metadata: Metadata, key: str) -> str | None:
    """The string under ``key``, None if absent."""
    value = metadata.get(key)
    if value is None or isinstance(value, str):
        return value
    raise FileFormatError(f"{key} must be a string, not {_kind(value)}")


def get_bool(metadata: Metadata, key: str) -> bool | None:
    """The truth value under ``key``, None if absent."""
    value = metadata.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise FileFormatError(f"{key} must be a boolean, not {_kind(value)}")


def get_token_id(metadata: Metadata, key: str, n_tokens: int) -> int | None:
    """The token id under ``key``, None if absent or -1 (how some converters write "none")."""
    value = metadata.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise FileFormatError(f"{key} must be a token id, not {_kind(value)}")
    if value in (-1, 0xFFFFFFFF):
        return None
    if not 0 <= value < n_tokens:
        raise FileFormatError(f"{key} is {value}, outside the vocabulary of {n_tokens} tokens")
    return value


def get_strings(metadata: Metadata, key: str) -> list[str] | None:
    """The list of strings under ``key``, None if absent."""
    value = metadata.get(key)
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise FileFormatError(f"{key} must be an array of strings, not {_kind(value)}")


def get_numbers(metadata: Metadata, key: str, kinds: str) -> NDArray[Any] | None:
    """The 1-d array of numbers under ``key``, None if absent.

    ``kinds``: the numpy kinds allowed, ``"iu"`` for integers, ``"iuf"`` for any number.
    """
    value = metadata.get(key)
    if value is None:
        return None
    if isinstance(value, list | np.ndarray):
        try:
            array = np.asarray(value)
        except (ValueError, OverflowError):
            array = np.empty((0, 0))
        if array.ndim == 1 and (array.size == 0 or array.dtype.kind in kinds):
            return array
    wanted = "numbers" if "f" in kinds else "integers"
    raise FileFormatError(f"{key} must be an array of {wanted}, not {_kind(value)}")


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return type(value).__name__
