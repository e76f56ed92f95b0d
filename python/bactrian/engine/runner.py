"""Several callers, one engine: whoever waits for news makes the next step for all."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence

from bactrian.engine.engine import Engine
from bactrian.engine.outputs import Collector, GenerationOutput
from bactrian.engine.request import Event, Request
from bactrian.errors import InvalidArgumentError
from bactrian.params import SamplingParams


class Runner:
    """Runs requests to their end on the threads of those who ask. Safe from any thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine | None = engine
        # Guards the engine and the inboxes.
        self._lock = threading.RLock()
        self._inbox: dict[int, deque[Event]] = {}
        # Requests to drop at the next step: a finaliser may run in the middle of one.
        self._abandoned: deque[int] = deque()
        self._last_id = 0

    def run(
        self, prompts: Sequence[tuple[int, ...]], params: SamplingParams
    ) -> list[GenerationOutput]:
        """Outputs of all prompts, decoded together. Raises what :meth:`Engine.add` raises."""
        requests = [Request(self._new_id(), prompt, params) for prompt in prompts]
        collectors = [Collector(request) for request in requests]
        try:
            for request in requests:
                self._add(request)
            for request, collector in zip(requests, collectors, strict=True):
                while not collector.complete:
                    collector.add(self.next_event(request.id))
        finally:
            for request in requests:
                self.drop(request.id)
        return [collector.output() for collector in collectors]

    def stream(self, prompt: tuple[int, ...], params: SamplingParams) -> TextIterator:
        """The one answer to a prompt, piece by piece."""
        if params.n != 1:
            raise InvalidArgumentError(f"a stream has one answer, but n is {params.n}")
        request = Request(self._new_id(), prompt, params)
        self._add(request)
        return TextIterator(self, request)

    def next_event(self, request_id: int) -> Event:
        """The next event of a running request, making steps until there is one."""
        while True:
            with self._lock:
                engine = self._open_engine()
                inbox = self._inbox[request_id]
                if inbox:
                    return inbox.popleft()
                while self._abandoned:
                    self.drop(self._abandoned.popleft())
                for event in engine.step():
                    self._inbox[event.request_id].append(event)

    def drop(self, request_id: int) -> None:
        """Ends a request, finished or not."""
        with self._lock:
            if self._inbox.pop(request_id, None) is not None and self._engine is not None:
                self._engine.abort(request_id)

    def abandon(self, request_id: int) -> None:
        """Ends a request at the next step. Takes no lock, so that a finaliser may call it."""
        self._abandoned.append(request_id)

    def close(self) -> None:
        """Ends all requests and lets go of the engine."""
        with self._lock:
            for request_id in list(self._inbox):
                self.drop(request_id)
            self._engine = None

    def _new_id(self) -> int:
        with self._lock:
            self._last_id += 1
            return self._last_id

    def _add(self, request: Request) -> None:
        with self._lock:
            self._open_engine().add(request)
            self._inbox[request.id] = deque()

    def _open_engine(self) -> Engine:
        if self._engine is None:
            raise InvalidArgumentError("this LLM is closed")
        return self._engine


class TextIterator(Iterator[str]):
    """The pieces of one answer as they come; joined, they are its text.

    ``output`` holds the whole answer after the last piece. Leaving early: :meth:`close`.
    An answer that ends with an error raises it here.
    """

    def __init__(self, runner: Runner, request: Request) -> None:
        self._runner = runner
        self._request = request
        self._collector = Collector(request)
        self._open = True
        self.output: GenerationOutput | None = None

    def __iter__(self) -> TextIterator:
        return self

    def __next__(self) -> str:
        while self._open:
            try:
                event = self._runner.next_event(self._request.id)
            except BaseException:
                self.close()
                raise
            self._collector.add(event)
            if event.finish is not None:
                self.output = self._collector.output()
                self.close()
                if event.finish.error is not None:
                    raise event.finish.error
            if event.text:
                return event.text
        raise StopIteration

    def close(self) -> None:
        """Stops the answer and frees what it holds. Closing twice is fine."""
        if self._open:
            self._open = False
            self._runner.drop(self._request.id)

    def __del__(self) -> None:
        if self._open:
            self._runner.abandon(self._request.id)
