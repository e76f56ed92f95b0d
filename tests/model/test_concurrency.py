"""Threads, abort and Ctrl-C: what happens while a decode runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn

import pytest

from bactrian import _core
from bactrian.errors import AbortedError, InvalidArgumentError
from make_tiny import TinyOptions
from model.conftest import MakeContext, TinyModels
from model.harness import Array, decode, embed, random_tokens, same_bits

D = TinyOptions()
# A decode of many passes: the other thread acts long before it ends.
LONG = replace(D, context_length=4096, n_layer=4)
LONG_TOKENS = random_tokens(1, 4000, LONG.n_vocab)


def long_batch() -> _core.Batch:
    batch = _core.Batch()
    batch.add_tokens(0, LONG_TOKENS)
    return batch


def test_contexts_on_two_threads(tiny: TinyModels, make_context: MakeContext) -> None:
    model = tiny.model(D)
    expected = [decode(make_context(model), (0, random_tokens(s, 90, 512))) for s in range(8)]
    contexts = [make_context(model), make_context(model)]

    def work(context: _core.Context) -> list[Array]:
        rows = []
        for s in range(8):
            rows.append(decode(context, (0, random_tokens(s, 90, 512))))
            embed(context, [[s, s + 1]])
            context.remove(0)
        return rows

    with ThreadPoolExecutor(2) as pool:
        for rows in pool.map(work, contexts):
            assert all(map(same_bits, rows, expected))


def test_one_context_on_many_threads(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(D), n_ctx=1024)
    expected = decode(make_context(tiny.model(D)), (0, random_tokens(1, 50, 512)))

    def work(sequence: int) -> Array:
        rows = decode(context, (sequence, random_tokens(1, 50, 512)))
        context.fork(sequence, sequence + 100)
        context.remove(sequence)
        return rows

    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(work, range(12)):
            assert same_bits(rows, expected)
    assert context.sequences() == list(range(100, 112))


def test_decode_releases_the_gil_and_abort_ends_it(
    tiny: TinyModels, make_context: MakeContext
) -> None:
    context = make_context(tiny.model(LONG), n_ubatch=1)
    decode(context, (1, [1, 2, 3]))
    started, ended = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        started.set()
        try:
            context.decode(long_batch())
        except AbortedError as error:
            errors.append(error)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    # abort() does nothing before the decode has begun, so it may take a few.
    while not ended.wait(0.001):
        context.abort()
    thread.join()
    assert len(errors) == 1
    assert context.sequences() == [1]
    assert context.length(1) == 3
    fresh = make_context(tiny.model(LONG))
    assert same_bits(decode(context, (1, [4])), decode(fresh, (0, [1, 2, 3, 4])))


def test_abort_without_a_decode_has_no_effect(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(D))
    context.abort()
    decode(context, (0, [1]))
    assert context.length(0) == 1


@contextmanager
def signals(handler: Callable[..., object]) -> Iterator[None]:
    """Sends this process a signal again and again: one will fall into a decode."""
    before = signal.signal(signal.SIGUSR1, handler)
    stop = threading.Event()

    def send() -> None:
        while not stop.wait(0.02):
            os.kill(os.getpid(), signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        stop.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)


def decode_for_ever(context: _core.Context) -> NoReturn:
    while True:
        context.decode(long_batch())
        context.remove(0)


def test_signal_handler_may_end_a_decode(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(LONG), n_ubatch=1)
    decode(context, (1, [1, 2, 3]))
    refusals: list[str] = []

    def handler(*_: object) -> None:
        if refusals:
            return
        try:
            context.length(0)  # inside a decode it would wait for itself
        except InvalidArgumentError as error:
            refusals.append(str(error))
            raise KeyboardInterrupt from None

    with signals(handler), pytest.raises(KeyboardInterrupt):
        decode_for_ever(context)
    assert "abort() only" in refusals[0]
    assert context.sequences() == [1]
    assert context.length(1) == 3


def test_abort_from_a_signal_handler(tiny: TinyModels, make_context: MakeContext) -> None:
    context = make_context(tiny.model(LONG), n_ubatch=1)
    with signals(lambda *_: context.abort()), pytest.raises(AbortedError):
        decode_for_ever(context)
    assert context.sequences() == []


def test_context_of_the_parent_in_a_forked_child(tiny: TinyModels) -> None:
    code = """
import os, sys, warnings
from bactrian import _core
from bactrian.errors import BactrianError
warnings.simplefilter("ignore")
model = _core.Model(_core.GgufFile(sys.argv[1]))
context = _core.Context(model, n_threads=2)
def run(context):
    batch = _core.Batch()
    batch.add_tokens(0, [1, 2, 3])
    return context.decode(batch).logits.tobytes()
expected = run(context)
pid = os.fork()
if pid == 0:
    try:
        run(context)
        os._exit(1)
    except BactrianError as error:
        if "fork" not in str(error):
            os._exit(2)
    os._exit(0 if run(_core.Context(model, n_threads=2)) == expected else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    result = subprocess.run([sys.executable, "-c", code, str(tiny.path(D))], check=False)
    assert result.returncode == 0
