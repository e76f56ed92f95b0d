"""Chat messages as clients send them, checked and brought into the form templates expect."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bactrian.errors import InvalidArgumentError
from bactrian.text._renderer import json_copy

Message = Mapping[str, object]

_ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,63}")
#: The names under which clients send a model's reasoning; templates read the first or second.
_REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")


def checked_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """A copy of the messages in which every ``content`` is a string.

    Text parts are joined in order, null becomes "". Raises InvalidArgumentError for an empty list,
    wrong types, a missing role or content, and parts that are not text.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise InvalidArgumentError(f"messages must be a list, not {type(messages).__name__}")
    if not messages:
        raise InvalidArgumentError("messages must not be empty")
    return [_checked(message, f"messages[{n}]") for n, message in enumerate(messages)]


def _checked(message: object, where: str) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise InvalidArgumentError(f"{where} must be an object, not {type(message).__name__}")
    copy: dict[str, Any] = json_copy(dict(message), where)
    role = copy.get("role")
    if not isinstance(role, str) or not _ROLE.fullmatch(role):
        raise InvalidArgumentError(
            f"{where}.role must be a word such as system, user, assistant or tool, not {role!r}"
        )
    calls = copy.get("tool_calls")
    if calls is None:
        copy.pop("tool_calls", None)
    elif not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise InvalidArgumentError(f"{where}.tool_calls must be a list of objects")
    if "content" not in copy and not calls:
        raise InvalidArgumentError(f"{where}.content is missing")
    copy["content"] = _joined(copy.get("content"), f"{where}.content")
    for key in _REASONING_KEYS:
        if copy.get(key) is not None and not isinstance(copy[key], str):
            raise InvalidArgumentError(f"{where}.{key} must be a string")
    reasoning = next((copy[key] for key in _REASONING_KEYS if copy.get(key) is not None), None)
    if reasoning is not None:
        copy.setdefault("thinking", reasoning)
        copy["reasoning_content"] = reasoning
    return copy


def _joined(content: object, where: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InvalidArgumentError(
            f"{where} must be a string, null or a list of text parts, not {type(content).__name__}"
        )
    texts = []
    for n, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind != "text" or not isinstance(part.get("text"), str):
            shown = repr(kind) if kind is not None else type(part).__name__
            raise InvalidArgumentError(
                f'{where}[{n}] must be {{"type": "text", "text": ...}}; this model takes text '
                f"only, not {shown}"
            )
        texts.append(part["text"])
    return "".join(texts)
