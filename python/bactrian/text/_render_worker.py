"""The process in which chat templates are rendered, with hard limits on time and memory.

Templates come from model files and may be hostile. Jinja's sandbox keeps them from the system, but
nothing inside an interpreter bounds what one operation costs: nested lists double with every step,
a format width asks for a gigabyte, an integer power never ends, and no other thread can interrupt
any of these. So the kernel does it: address space by RLIMIT_AS, processor time by ITIMER_PROF,
whose signal ends the process; the caller starts a new one.

Protocol: frames of a 4-byte little-endian length and JSON, requests on stdin, answers on stdout.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from jinja2 import Template, TemplateError
from jinja2.exceptions import SecurityError, TemplateSyntaxError

from bactrian.text._sandbox import TemplateRaisedError, make_environment


class OutputTooLongError(Exception):
    """The rendered text exceeds its limit."""


def read_frame(stream: BinaryIO) -> bytes | None:
    """One frame's payload, None at the end of the stream."""
    header = stream.read(4)
    if len(header) < 4:
        return None
    return stream.read(int.from_bytes(header, "little"))


def write_frame(stream: BinaryIO, payload: bytes) -> None:
    """Sends one frame."""
    stream.write(len(payload).to_bytes(4, "little"))
    stream.write(payload)
    stream.flush()


@lru_cache(maxsize=8)
def _compiled(source: str, marks: str) -> Template:
    return make_environment(marks).from_string(source)


def _joined(pieces: Iterable[str], max_characters: int) -> str:
    parts = []
    length = 0
    for piece in pieces:
        length += len(piece)
        if length > max_characters:
            raise OutputTooLongError
        parts.append(piece)
    return "".join(parts)


def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Renders each set of variables of a request: a text, or what went wrong."""
    return [_attempt(request, variables) for variables in request["renders"]]


def _attempt(request: dict[str, Any], variables: dict[str, Any] | None) -> dict[str, Any]:
    limit = request["max_characters"]
    try:
        template = _compiled(request["source"], request["marks"])
        if variables is None:  # only to see whether it compiles
            return {"text": ""}
        return {"text": _joined(template.generate(variables), limit)}
    except TemplateRaisedError as error:
        return {"error": str(error.message), "raised": True}
    except OutputTooLongError:
        return {"error": f"it produces more than {limit} characters"}
    except TemplateSyntaxError as error:
        return {"error": f"line {error.lineno}: {error.message}"}
    except SecurityError as error:
        return {"error": f"the sandbox refused it: {error}"}
    except MemoryError:
        return {"error": "it needs too much memory"}
    except RecursionError:
        return {"error": "it is nested too deeply"}
    except TemplateError as error:
        return {"error": str(error)}
    except Exception as error:  # whatever the template's own operations raise
        return {"error": f"{type(error).__name__}: {error}"[:1000]}


def main() -> None:
    """Answers requests until the other side closes."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        request = json.loads(frame)
        # On top of what is in use: the frame is the caller's, and as large as it wants.
        soft_limit = _bytes_in_use() + request["max_bytes"]
        if hard_limit != resource.RLIM_INFINITY:
            soft_limit = min(soft_limit, hard_limit)
        resource.setrlimit(resource.RLIMIT_AS, (soft_limit, hard_limit))
        signal.setitimer(signal.ITIMER_PROF, request["max_seconds"])
        results = answer(request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard_limit, hard_limit))
        write_frame(sys.stdout.buffer, json.dumps(results).encode())


def _bytes_in_use() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()
