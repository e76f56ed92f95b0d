"""What to compute next: a pure function of queues and counts. No I/O, no clock, no model.

Two questions, asked in this order before every step:

* :func:`admit`: which waiting sequences may start? Only those whose prompt fits in the pages that
  running ones will not need soon, so that starting one does not throw another out.
* :func:`plan`: which rows make up the next batch? First the one row of every decoding sequence, so
  that answers keep flowing, then pieces of prompts up to the token budget. If there are not enough
  pages, the youngest sequences of the lowest priority give theirs back and are recomputed later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a step may use. Every number counts tokens, except ``n_pages``."""

    n_pages: int
    page_tokens: int
    step_tokens: int

    def pages(self, n_tokens: int) -> int:
        """Pages that hold so many tokens."""
        return -(-n_tokens // self.page_tokens)


@dataclass(frozen=True, slots=True)
class Entry:
    """One sequence, as far as scheduling goes.

    ``order`` rises with arrival and is unique. ``n_tokens`` are known (prompt and drawn so far),
    the first ``n_cached`` of them evaluated. ``n_answers`` sequences will follow from this prompt.
    ``shared_tail``: its last page is partly filled and shared, so the next write copies it.
    """

    order: int
    priority: int
    n_tokens: int
    n_cached: int
    n_answers: int = 1
    shared_tail: bool = False

    @property
    def n_missing(self) -> int:
        """Tokens to evaluate before the next one can be drawn."""
        return self.n_tokens - self.n_cached


@dataclass(frozen=True, slots=True)
class Row:
    """Evaluate the next ``n_tokens`` of a sequence; ``last``: then draw."""

    order: int
    n_tokens: int
    last: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows of the next batch, or the sequence that must give its pages back first."""

    rows: tuple[Row, ...] = ()
    preempt: int | None = None


def by_urgency(entry: Entry) -> tuple[int, int]:
    """Sort key: higher priority first, then first come, first served."""
    return (-entry.priority, entry.order)


def admit(
    waiting: Sequence[Entry], running: Sequence[Entry], n_free_pages: int, limits: Limits
) -> list[int]:
    """Orders of the waiting sequences that start now, most urgent first.

    Nobody overtakes: the first one that does not fit ends the search, else a stream of small
    requests could hold back a large one for ever.
    """
    n_spare = n_free_pages - sum(_pages_needed(e, limits) + e.n_answers for e in running)
    n_sequences = sum(e.n_answers for e in running)
    admitted: list[int] = []
    for entry in sorted(waiting, key=by_urgency):
        # Room for the whole prompt and one drawn token, then one page of growth for each answer.
        n_needed = min(limits.pages(entry.n_tokens + 1), limits.n_pages)
        n_sequences += entry.n_answers
        fits = n_needed <= n_spare and n_sequences <= limits.step_tokens
        if not fits and (running or admitted):
            break
        n_spare -= n_needed + entry.n_answers
        admitted.append(entry.order)
    return admitted


def plan(running: Sequence[Entry], n_free_pages: int, limits: Limits) -> Plan:
    """Rows of the next batch, or who must give way for them. The last one left never gives way."""
    entries = sorted(running, key=by_urgency)
    rows, n_needed = _rows(entries, limits)
    if n_needed > n_free_pages and len(entries) > 1:
        return Plan(preempt=entries[-1].order)
    return Plan(rows)


def _rows(entries: Sequence[Entry], limits: Limits) -> tuple[tuple[Row, ...], int]:
    """Rows within the token budget, and the pages they need."""
    decoding = [e for e in entries if e.n_missing == 1]
    prefilling = [e for e in entries if e.n_missing > 1]
    rows = [Row(e.order, 1, last=True) for e in decoding]
    n_pages = sum(_pages_needed(e, limits) for e in decoding)
    n_left = limits.step_tokens - len(rows)
    for entry in prefilling:
        n_chunk = min(entry.n_missing, n_left)
        if n_chunk <= 0:
            break
        rows.append(Row(entry.order, n_chunk, last=n_chunk == entry.n_missing))
        n_pages += limits.pages(entry.n_cached + n_chunk) - limits.pages(entry.n_cached)
        n_left -= n_chunk
    return tuple(rows), n_pages


def _pages_needed(entry: Entry, limits: Limits) -> int:
    """Pages an entry must still take to have all its tokens evaluated."""
    n_new = limits.pages(entry.n_tokens) - limits.pages(entry.n_cached)
    return n_new + int(entry.shared_tail)
