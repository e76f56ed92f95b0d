"""The Jinja environment of chat templates: what a template may see and call.

The functions and options are those that transformers gives its templates. Used inside the render
process only (see ``_render_worker``).
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import ext, nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace


class TemplateRaisedError(TemplateError):
    """The template called ``raise_exception``."""


class GenerationTag(ext.Extension):
    """``{% generation %}`` ... ``{% endgeneration %}`` marks what the assistant said.

    Training needs the positions; for a prompt the block is simply its content.
    """

    tags = {"generation"}  # noqa: RUF012 (declared so by the base class)

    def parse(self, parser: Parser) -> nodes.Node:
        """A call block, so that the body has the scope that transformers gives it."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_content")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _content(self, caller: Macro) -> str:
        return caller()


class SafeNamespace(Namespace):
    """``namespace()`` without names that Python gives a meaning."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        for name in dict(*args, **kwargs):
            _check_name(name)
        super().__init__(*args, **kwargs)

    def __setitem__(self, name: str, value: Any) -> None:  # noqa: ANN401
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace can't have an attribute named {name!r}")


def _raise_exception(message: str) -> NoReturn:
    raise TemplateRaisedError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def make_environment(marks: str) -> ImmutableSandboxedEnvironment:
    """The sandbox. ``marks``: characters that ``tojson`` never escapes (see ``_trust``)."""

    def tojson(
        value: Any,  # noqa: ANN401
        ensure_ascii: bool = False,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        # Jinja's own filter escapes HTML characters, which no model expects.
        text = json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )
        if ensure_ascii:
            for mark in marks:
                text = text.replace(json.dumps(mark)[1:-1], mark)
        return text

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals.update(
        raise_exception=_raise_exception, strftime_now=_strftime_now, namespace=SafeNamespace
    )
    return environment
