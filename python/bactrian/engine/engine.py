"""The step loop: admit, plan, decode, draw, report. Synchronous; the caller owns the thread.

The engine owns a context. Requests are added and aborted between steps; each step evaluates one
batch and returns the news it brought. A fault of one request ends that request alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bactrian import _core
from bactrian.engine.request import Event, Finish, FinishReason, Request, TokenLogprobs
from bactrian.engine.sampling import Drawn, draw, new_samplers
from bactrian.engine.scheduler import Limits, Plan, Row, admit, by_urgency, plan
from bactrian.engine.sequence import Sequence
from bactrian.engine.text_stream import TextStream
from bactrian.errors import (
    BactrianError,
    ContextOverflowError,
    InvalidArgumentError,
    NonFiniteError,
)
from bactrian.model import Model

#: Tokens in one step: enough to keep the arithmetic busy, few enough to keep answers flowing.
STEP_TOKENS = 512


class Engine:
    """Continues any number of prompts at once from one model."""

    def __init__(
        self,
        model: Model,
        context: _core.Context,
        *,
        step_tokens: int = STEP_TOKENS,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._model = model
        self._context = context
        self._clock = clock
        #: Most tokens a sequence may have, prompt and answer together.
        self.max_tokens = min(context.n_ctx, model.n_ctx_max)
        self._limits = Limits(
            n_pages=context.n_pages,
            page_tokens=context.page_tokens,
            step_tokens=step_tokens,
        )
        self._waiting: dict[int, Sequence] = {}
        self._running: dict[int, Sequence] = {}
        self._next_order = 0

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._waiting or self._running)

    def add(self, request: Request) -> None:
        """Queues a request.

        Raises ContextOverflowError if it can never fit, InvalidArgumentError for an empty prompt,
        a token id that the model lacks, or an id that is in use.
        """
        self._check(request)
        samplers = new_samplers(self._model, request)
        sequences = [
            Sequence(
                request=request,
                index=index,
                order=self._next_order + index,
                sampler=sampler,
                text=TextStream(self._model.tokenizer, request.params),
                tokens=list(request.prompt),
            )
            for index, sampler in enumerate(samplers)
        ]
        self._next_order += len(sequences)
        first = sequences[0]
        first.siblings = sequences[1:]
        self._waiting[first.order] = first

    def abort(self, request_id: int) -> None:
        """Drops a request and frees its pages; unknown ids are ignored. Nothing is reported."""
        for sequence in self._sequences():
            if sequence.request.id == request_id:
                self._release(sequence)

    def step(self) -> list[Event]:
        """Evaluates one batch and returns what is new.

        Raises AbortedError if the context was told to abort: nothing is lost, and the next step
        tries the same again.
        """
        self._admit()
        rows = self._next_rows()
        if not rows:
            return []
        batch = _core.Batch()
        for row in rows:
            sequence = self._running[row.order]
            assert sequence.slot is not None  # noqa: S101  (running means having a slot)
            tokens = sequence.next_tokens(row.n_tokens)
            batch.add_tokens(sequence.slot, tokens, logits="last" if row.last else "none")
        try:
            output = self._context.decode(batch)
        except ContextOverflowError as error:
            return self._overflow(error)
        drawing = []
        for row in rows:
            sequence = self._running[row.order]
            sequence.n_cached += row.n_tokens
            sequence.shared_tail = False
            if row.last:
                drawing.append(self._fork_siblings(sequence))
        return self._draw(drawing, output)

    # Queues and pages.

    def _sequences(self) -> list[Sequence]:
        return [*self._waiting.values(), *self._running.values()]

    def _admit(self) -> None:
        waiting = [s.entry() for s in self._waiting.values()]
        running = [s.entry() for s in self._running.values()]
        for order in admit(waiting, running, self._context.n_free_pages, self._limits):
            sequence = self._waiting.pop(order)
            sequence.slot = self._free_slot()
            self._running[order] = sequence
            sequence.n_cached = self._context.reuse_prefix(sequence.slot, sequence.tokens)
            if sequence.started is None:
                sequence.started = self._clock()
                sequence.n_reused = sequence.n_cached

    def _next_rows(self) -> tuple[Row, ...]:
        while True:
            entries = [s.entry() for s in self._running.values()]
            step: Plan = plan(entries, self._context.n_free_pages, self._limits)
            if step.preempt is None:
                return step.rows
            self._preempt(self._running[step.preempt])

    def _preempt(self, sequence: Sequence) -> None:
        """Takes a sequence's pages; it waits to be computed again, its sampler as it was."""
        self._release(sequence)
        sequence.n_cached = 0
        sequence.shared_tail = False
        self._waiting[sequence.order] = sequence

    def _release(self, sequence: Sequence) -> None:
        self._waiting.pop(sequence.order, None)
        self._running.pop(sequence.order, None)
        if sequence.slot is not None:
            self._context.remove(sequence.slot)
            sequence.slot = None

    def _free_slot(self) -> int:
        taken = {s.slot for s in self._running.values()}
        return next(slot for slot in range(len(taken) + 1) if slot not in taken)

    def _overflow(self, error: ContextOverflowError) -> list[Event]:
        """Pages ran out although the plan fitted: the last in line gives way, or ends if alone."""
        last = max(self._running.values(), key=lambda s: by_urgency(s.entry()))
        if len(self._running) > 1:
            self._preempt(last)
            return []
        return [self._finish(s, "error", error=error) for s in [last, *last.siblings]]

    def _fork_siblings(self, first: Sequence) -> list[Sequence]:
        """The answers that draw from this row: the sequence, and those that fork off it now."""
        siblings, first.siblings = first.siblings, []
        assert first.slot is not None  # noqa: S101
        for sibling in siblings:
            sibling.slot = self._free_slot()
            self._running[sibling.order] = sibling
            self._context.fork(first.slot, sibling.slot)
            sibling.n_cached = first.n_cached
            sibling.n_reused = first.n_reused
            sibling.started = first.started
            # The first keeps the page that all share, each sibling's next token copies it.
            sibling.shared_tail = first.n_cached % self._limits.page_tokens != 0
        return [first, *siblings]

    # Drawing and reporting.

    def _draw(self, groups: list[list[Sequence]], output: _core.Output) -> list[Event]:
        events = []
        drawing: list[tuple[Sequence, int]] = []
        for row, group in enumerate(groups):
            for sequence in group:
                if sequence.request.params.max_tokens == 0:
                    events.append(self._finish(sequence, "length"))
                else:
                    drawing.append((sequence, row))
        if drawing:
            drawn = draw(drawing, output.logits)
            events += [self._take(s, d) for (s, _), d in zip(drawing, drawn, strict=True)]
        return events

    def _take(self, sequence: Sequence, drawn: Drawn) -> Event:
        """Appends a drawn token to its answer and decides whether that ends it."""
        if drawn.token < 0:
            error = NonFiniteError(
                f"the model gave no usable logits after {len(sequence.tokens)} tokens: "
                "they are NaN, or all of them are forbidden"
            )
            return self._finish(sequence, "error", error=error)
        if sequence.first_token is None:
            sequence.first_token = self._clock()
        sequence.tokens.append(drawn.token)
        news = (drawn.token,)
        logprobs = () if drawn.logprobs is None else (drawn.logprobs,)
        is_end = drawn.token in self._model.vocab.eog_ids
        params = sequence.request.params
        text = "" if is_end and not params.show_special else sequence.text.push(drawn.token)
        if is_end or sequence.text.stop_string is not None:
            return self._finish(sequence, "stop", text, news, logprobs)
        if sequence.n_generated == params.max_tokens:
            return self._finish(sequence, "length", text, news, logprobs)
        if len(sequence.tokens) >= self.max_tokens:
            return self._finish(sequence, "length", text, news, logprobs, truncated=True)
        return Event(sequence.request.id, sequence.index, text, news, logprobs)

    def _finish(
        self,
        sequence: Sequence,
        reason: FinishReason,
        text: str = "",
        tokens: tuple[int, ...] = (),
        logprobs: tuple[TokenLogprobs, ...] = (),
        *,
        truncated: bool = False,
        error: BactrianError | None = None,
    ) -> Event:
        text += sequence.text.finish()
        stop_string = sequence.text.stop_string
        if stop_string is not None and error is None:
            reason, truncated = "stop", False
        finish = Finish(
            reason=reason,
            seed=sequence.sampler.seed,
            timings=sequence.timings(self._clock()),
            stop_string=stop_string,
            truncated=truncated,
            error=error,
        )
        self._release(sequence)
        return Event(sequence.request.id, sequence.index, text, tokens, logprobs, finish)

    def _check(self, request: Request) -> None:
        n_prompt, max_tokens = len(request.prompt), request.params.max_tokens
        if n_prompt == 0:
            raise InvalidArgumentError("the prompt is empty: there is no token to continue from")
        for token in request.prompt:
            if not 0 <= token < self._model.n_vocab:
                raise InvalidArgumentError(
                    f"token id {token} is outside the vocabulary (0 to {self._model.n_vocab - 1})"
                )
        if n_prompt > self.max_tokens or (n_prompt == self.max_tokens and max_tokens != 0):
            raise ContextOverflowError(
                f"the prompt has {n_prompt} tokens and leaves no room for an answer: the context "
                f"holds {self.max_tokens} (the model's own limit is {self._model.n_ctx_max})"
            )
        if any(s.request.id == request.id for s in self._sequences()):
            raise InvalidArgumentError(f"a request with id {request.id} is running already")
