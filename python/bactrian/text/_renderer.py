"""Sends chat templates to the render process; starts it, and starts another if one dies."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from bactrian.errors import InvalidArgumentError, TemplateError

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from bactrian.text._render_worker import main; main()"
)


@dataclass(frozen=True)
class RenderLimits:
    """Bounds on one request: processor seconds, bytes of memory, characters of each text."""

    seconds: float = 5.0
    n_bytes: int = 512 << 20
    n_characters: int = 32 << 20

    @property
    def wall_seconds(self) -> float:
        """Elapsed time after which a process that doesn't even use the processor is given up."""
        return 60.0 + 10.0 * self.seconds


class Renderer:
    """One render process and its pipes. Any thread may call; requests wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def render(
        self,
        source: str,
        renders: Sequence[Mapping[str, object] | None],
        *,
        marks: str,
        limits: RenderLimits,
    ) -> list[str | TemplateError]:
        """The template's text for each set of variables, or the error in its place.

        None for a set only compiles the template.

        Raises TemplateError if the template exceeds its limits, InvalidArgumentError for variables
        that JSON can't express.
        """
        request = {
            "source": source,
            "renders": renders,
            "marks": marks,
            "max_characters": limits.n_characters,
            "max_bytes": limits.n_bytes,
            "max_seconds": limits.seconds,
        }
        try:
            payload = json.dumps(request).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgumentError(f"messages must be plain JSON data: {error}") from error
        return [_result(answer) for answer in json.loads(self._exchange(payload, limits))]

    def close(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            self._stop()

    def _exchange(self, payload: bytes, limits: RenderLimits) -> bytes:
        with self._lock:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None  # noqa: S101 (PIPE)
            try:
                # A process that has died shows as an end of file below.
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(len(payload).to_bytes(4, "little") + payload)
                    process.stdin.flush()
                deadline = time.monotonic() + limits.wall_seconds
                size = int.from_bytes(_read(process.stdout, 4, deadline), "little")
                return _read(process.stdout, size, deadline)
            except EOFError:
                code = process.wait()
                self._stop()
                raise TemplateError(_death(code, limits)) from None
            except BaseException:
                # Half an exchange: what comes next from this process answers nobody.
                self._stop()
                raise

    def _running(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():
            self._process = None  # inherited through fork: it serves the parent
        if self._process is None or self._process.poll() is not None:
            self._stop()
            # A session of its own, so that Ctrl-C at the terminal doesn't reach it.
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._owner = os.getpid()
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def _result(answer: dict[str, Any]) -> str | TemplateError:
    if "text" in answer:
        text: str = answer["text"]
        return text
    if answer.get("raised"):
        return TemplateError(answer["error"])
    return TemplateError(f"the chat template can't be rendered: {answer['error']}")


def _read(stream: IO[bytes], size: int, deadline: float) -> bytes:
    data = bytearray()
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    while len(data) < size:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise TemplateError("the chat template can't be rendered: its process doesn't answer")
        chunk = os.read(stream.fileno(), min(size - len(data), 1 << 20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def _death(code: int, limits: RenderLimits) -> str:
    if code == -signal.SIGPROF:
        return (
            "the chat template can't be rendered: it takes more than "
            f"{limits.seconds:g} s of processor time"
        )
    return f"the chat template can't be rendered: its process ended with code {code}"


_shared: list[Renderer] = []
_shared_lock = threading.Lock()


def shared_renderer() -> Renderer:
    """The renderer of this Python process, ended when it exits."""
    with _shared_lock:
        if not _shared:
            _shared.append(Renderer())
            atexit.register(_shared[0].close)
        return _shared[0]


def json_copy(value: Any, what: str) -> Any:  # noqa: ANN401 (any JSON value)
    """A deep copy of JSON data. Raises InvalidArgumentError for anything else."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{what} must be plain JSON data: {error}") from error
