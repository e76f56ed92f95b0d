"""The engine on a real (tiny) model: batching, pages, limits, faults."""

import threading

import numpy as np
import pytest

from bactrian import SamplingParams
from bactrian.engine.engine import Engine
from bactrian.engine.outputs import Collector
from bactrian.engine.request import Request
from bactrian.errors import (
    AbortedError,
    ContextOverflowError,
    InvalidArgumentError,
    NonFiniteError,
    OutOfMemoryError,
)

GREEDY = SamplingParams(temperature=0, max_tokens=24, ignore_eos=True)
WILD = SamplingParams(temperature=2, top_k=0, min_p=0, seed=5, max_tokens=24, ignore_eos=True)


class Spy:
    """A context that counts, and that can be told to fail."""

    def __init__(self, context):
        self._context = context
        self.n_tokens = []
        self.failures = []

    def __getattr__(self, name):
        return getattr(self._context, name)

    def decode(self, batch):
        if self.failures and (error := self.failures.pop(0)) is not None:
            raise error
        self.n_tokens.append(batch.n_tokens)
        return self._context.decode(batch)


def new_engine(model, n_ctx=256, **more):
    spy = Spy(model.context(n_ctx=n_ctx))
    return Engine(model, spy, **more), spy


def prompt_of(seed, n):
    return tuple(int(t) for t in np.random.default_rng(seed).integers(3, 500, n))


def run(engine, requests):
    """All requests to their end; their outputs by id."""
    collectors = {request.id: Collector(request) for request in requests}
    for request in requests:
        engine.add(request)
    while engine.has_work:
        for event in engine.step():
            collectors[event.request_id].add(event)
    return {i: collector.output() for i, collector in collectors.items()}


def alone(model, request):
    engine, _ = new_engine(model)
    return run(engine, [request])[request.id]


def requests_of(lengths, params):
    return [Request(i, prompt_of(i, n), params) for i, n in enumerate(lengths)]


def texts_and_tokens(output):
    return [(c.text, c.tokens, c.finish_reason) for c in output.completions]


@pytest.mark.parametrize("params", [GREEDY, WILD], ids=["greedy", "wild"])
def test_together_gives_what_each_gives_alone(bpe, params):
    requests = requests_of([1, 5, 70, 3, 130, 64], params)
    engine, spy = new_engine(bpe, n_ctx=1024, step_tokens=48)
    together = run(engine, requests)
    for request in requests:
        expected = texts_and_tokens(alone(bpe, request))
        assert texts_and_tokens(together[request.id]) == expected
    assert max(spy.n_tokens) <= 48
    assert spy.sequences() == []


def test_a_short_answer_flows_while_a_long_prompt_is_read(bpe):
    engine, _ = new_engine(bpe, n_ctx=512, step_tokens=16)
    engine.add(Request(1, prompt_of(1, 4), GREEDY))
    engine.step()
    engine.add(Request(2, prompt_of(2, 150), GREEDY))
    for _ in range(5):
        assert [e.request_id for e in engine.step()] == [1]
    for request_id in (1, 2):
        engine.abort(request_id)


def test_without_pages_the_youngest_waits_and_nothing_changes(bpe, monkeypatch):
    preempted = []
    preempt = Engine._preempt
    monkeypatch.setattr(
        Engine, "_preempt", lambda self, s: preempted.append(s.request.id) or preempt(self, s)
    )
    params = WILD.with_changes(max_tokens=120)
    requests = requests_of([50, 50, 50], params)
    engine, spy = new_engine(bpe, n_ctx=320)
    together = run(engine, requests)
    assert preempted and 0 not in preempted
    for request in requests:
        assert texts_and_tokens(together[request.id]) == texts_and_tokens(alone(bpe, request))
    spy.check()


def test_a_surprise_shortage_of_pages_is_handled_the_same_way(bpe):
    requests = requests_of([5, 6], GREEDY)
    engine, spy = new_engine(bpe)
    spy.failures = [None, None, ContextOverflowError("no free pages")]
    together = run(engine, requests)
    for request in requests:
        assert texts_and_tokens(together[request.id]) == texts_and_tokens(alone(bpe, request))


def test_one_request_that_cannot_go_on_ends_with_its_own_error(bpe):
    engine, spy = new_engine(bpe)
    error = ContextOverflowError("no free pages")
    spy.failures = [None, error]
    (completion,) = run(engine, requests_of([5], GREEDY))[0].completions
    assert (completion.finish_reason, completion.error) == ("error", error)
    assert len(completion.tokens) == 1
    spy.check()


def test_several_answers_evaluate_the_prompt_once_and_differ_by_seed(bpe):
    params = WILD.with_changes(n=3)
    engine, spy = new_engine(bpe)
    prompt = prompt_of(9, 70)
    output = run(engine, [Request(1, prompt, params)])[1]
    assert spy.n_tokens == [70] + [3] * 23
    assert [c.seed for c in output.completions] == [5, 6, 7]
    assert len({c.tokens for c in output.completions}) == 3
    for i, completion in enumerate(output.completions):
        single = alone(bpe, Request(1, prompt, WILD.with_changes(seed=5 + i)))
        assert texts_and_tokens(single) == [(completion.text, completion.tokens, "length")]


def test_the_last_seed_is_followed_by_the_first(bpe):
    params = WILD.with_changes(n=2, seed=2**32 - 2, max_tokens=1)
    engine, _ = new_engine(bpe)
    output = run(engine, [Request(1, (5,), params)])[1]
    assert [c.seed for c in output.completions] == [2**32 - 2, 0]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_limits_are_exact(bpe, n):
    engine, spy = new_engine(bpe)
    output = run(engine, [Request(1, prompt_of(1, 5), GREEDY.with_changes(max_tokens=n))])[1]
    (completion,) = output.completions
    assert len(completion.tokens) == completion.timings.n_generated == n
    assert (completion.finish_reason, completion.truncated) == ("length", False)
    assert sum(spy.n_tokens) == 5 + max(0, n - 1)
    assert n > 0 or completion.text == ""


def test_no_tokens_still_evaluates_the_prompt_for_the_next(bpe):
    engine, _ = new_engine(bpe)
    prompt = prompt_of(1, 150)
    run(engine, [Request(1, prompt, GREEDY.with_changes(max_tokens=0))])
    output = run(engine, [Request(2, prompt, GREEDY)])[2]
    assert output.timings.n_cached == 128
    assert texts_and_tokens(output) == texts_and_tokens(alone(bpe, Request(2, prompt, GREEDY)))


def test_the_end_of_the_context_ends_an_answer(bpe):
    engine, _ = new_engine(bpe, n_ctx=128)
    params = GREEDY.with_changes(max_tokens=None)
    output = run(engine, [Request(1, prompt_of(1, 8), params)])[1]
    (completion,) = output.completions
    assert len(completion.tokens) == 120
    assert (completion.finish_reason, completion.truncated) == ("length", True)


def test_the_models_own_context_is_the_limit_of_each(bpe):
    engine, _ = new_engine(bpe, n_ctx=4096)
    assert engine.max_tokens == 256


@pytest.mark.parametrize("n_prompt", [256, 257, 1000])
def test_a_prompt_without_room_for_an_answer_is_refused_with_the_numbers(bpe, n_prompt):
    engine, _ = new_engine(bpe)
    with pytest.raises(ContextOverflowError, match=f"has {n_prompt} tokens .* holds 256"):
        engine.add(Request(1, prompt_of(1, n_prompt), GREEDY))
    assert not engine.has_work


def test_a_full_context_can_still_be_evaluated(bpe):
    engine, spy = new_engine(bpe)
    run(engine, [Request(1, prompt_of(1, 256), GREEDY.with_changes(max_tokens=0))])
    assert sum(spy.n_tokens) == 256


@pytest.mark.parametrize(
    ("prompt", "complaint"),
    [((), "prompt is empty"), ((-1,), "token id -1 is outside"), ((1, 512), "token id 512 is")],
)
def test_wrong_prompts_are_named(bpe, prompt, complaint):
    engine, _ = new_engine(bpe)
    with pytest.raises(InvalidArgumentError, match=complaint):
        engine.add(Request(1, prompt, GREEDY))


def test_an_id_can_be_used_again_only_after_its_end(bpe):
    engine, _ = new_engine(bpe)
    engine.add(Request(1, (5,), GREEDY))
    with pytest.raises(InvalidArgumentError, match="id 1 is running"):
        engine.add(Request(1, (5,), GREEDY))
    engine.abort(1)
    engine.add(Request(1, (5,), GREEDY))
    engine.abort(1)


def test_abort_frees_pages_at_once_and_leaves_others_alone(bpe):
    engine, spy = new_engine(bpe)
    first, second = requests_of([60, 60], GREEDY.with_changes(n=2))
    collector = Collector(second)
    engine.add(first)
    engine.add(second)
    for event in engine.step() + engine.step():
        if event.request_id == second.id:
            collector.add(event)
    engine.abort(first.id)
    engine.abort(12345)
    assert len(spy.sequences()) == 2
    while engine.has_work:
        for event in engine.step():
            assert event.request_id == second.id
            collector.add(event)
    engine_alone, _ = new_engine(bpe)
    assert texts_and_tokens(collector.output()) == texts_and_tokens(
        run(engine_alone, [second])[second.id]
    )


def test_an_urgent_request_is_answered_first(bpe):
    engine, _ = new_engine(bpe, step_tokens=64)
    engine.add(Request(1, prompt_of(1, 100), GREEDY))
    engine.add(Request(2, prompt_of(2, 60), GREEDY, priority=1))
    assert [e.request_id for e in engine.step()] == [2]
    for request_id in (1, 2):
        engine.abort(request_id)


def test_nan_ends_only_the_request_it_happened_to(broken, broken_token):
    engine, spy = new_engine(broken)
    requests = requests_of([5, 6, 7], GREEDY)
    requests[1] = Request(1, (*prompt_of(1, 5), broken_token, 9), GREEDY.with_changes(logprobs=2))
    outputs = run(engine, requests)
    (bad,) = outputs[1].completions
    assert bad.finish_reason == "error" and isinstance(bad.error, NonFiniteError)
    assert bad.tokens == () and bad.text == "" and bad.logprobs == ()
    for i in (0, 2):
        assert texts_and_tokens(outputs[i]) == texts_and_tokens(alone(broken, requests[i]))
    spy.check()


def test_an_interrupted_step_loses_nothing(bpe):
    engine, spy = new_engine(bpe)
    spy.failures = [None, AbortedError("stop"), None, KeyboardInterrupt(), OutOfMemoryError("x")]
    request = Request(1, prompt_of(1, 5), GREEDY)
    collector = Collector(request)
    engine.add(request)
    interruptions = 0
    while engine.has_work:
        try:
            for event in engine.step():
                collector.add(event)
        except (AbortedError, KeyboardInterrupt, OutOfMemoryError):
            interruptions += 1
    assert interruptions == 3
    assert texts_and_tokens(collector.output()) == texts_and_tokens(alone(bpe, request))


def test_abort_from_another_thread_leaves_the_context_usable(bpe):
    engine, spy = new_engine(bpe)
    request = Request(1, prompt_of(1, 200), GREEDY)
    done = threading.Event()

    def keep_aborting():
        while not done.is_set():
            spy.abort()

    engine.add(request)
    thread = threading.Thread(target=keep_aborting)
    thread.start()
    try:
        with pytest.raises(AbortedError):
            while engine.has_work:
                engine.step()
    finally:
        done.set()
        thread.join()
    spy.check()
    engine.abort(1)
    assert texts_and_tokens(run(engine, [request])[1]) == texts_and_tokens(alone(bpe, request))


def test_logprobs_are_those_of_the_plain_softmax(bpe):
    prompt = prompt_of(3, 6)
    params = WILD.with_changes(logprobs=3, max_tokens=4)
    completion = alone(bpe, Request(1, prompt, params)).completions[0]
    assert len(completion.logprobs) == 4
    # The same tokens, evaluated by hand.
    from bactrian import Batch

    context = bpe.context()
    batch = Batch()
    batch.add_tokens(0, prompt + completion.tokens[:-1], logits="all")
    logits = context.decode(batch).logits[len(prompt) - 1 :].astype(np.float64)
    expected = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    for row, entry, token in zip(expected, completion.logprobs, completion.tokens, strict=True):
        assert entry.token == token
        assert entry.logprob == pytest.approx(row[token], abs=1e-4)
        assert [t for t, _ in entry.top] == np.argsort(-row)[:3].tolist()
        assert [p for _, p in entry.top] == pytest.approx(np.sort(row)[::-1][:3], abs=1e-4)


def test_each_request_gets_as_many_logprobs_as_it_asked_for(bpe):
    wanted = [None, 0, 2, 5]
    requests = [
        Request(i, prompt_of(i, 4), GREEDY.with_changes(logprobs=n)) for i, n in enumerate(wanted)
    ]
    engine, _ = new_engine(bpe)
    outputs = run(engine, requests)
    for i, n in enumerate(wanted):
        entries = outputs[i].completions[0].logprobs
        assert len(entries) == (0 if n is None else 24)
        assert all(len(entry.top) == n for entry in entries)


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|im_end|>"])
def test_every_end_token_ends_the_answer_and_shows_nothing(bpe, text):
    end = bpe.vocab.id_of[text]
    params = SamplingParams(temperature=0, logit_bias={end: 1e9})
    (completion,) = alone(bpe, Request(1, (5, 6), params)).completions
    assert (completion.text, completion.tokens) == ("", (end,))
    assert (completion.finish_reason, completion.stop_string) == ("stop", None)
    shown = alone(bpe, Request(1, (5, 6), params.with_changes(show_special=True)))
    assert shown.text == text
    going_on = params.with_changes(ignore_eos=True, max_tokens=30)
    (completion,) = alone(bpe, Request(1, (5, 6), going_on)).completions
    assert len(completion.tokens) == 30 and end not in completion.tokens


def test_timings_count_what_was_done(bpe):
    ticks = iter(range(100))
    engine, _ = new_engine(bpe, clock=lambda: float(next(ticks)))
    timings = run(engine, [Request(1, prompt_of(1, 5), GREEDY.with_changes(max_tokens=3))])[
        1
    ].timings
    assert (timings.n_prompt, timings.n_cached, timings.n_generated) == (5, 0, 3)
    # One tick at the start, one at the first token, one at the end.
    assert (timings.prompt_seconds, timings.generation_seconds) == (1.0, 1.0)
    assert (timings.prompt_per_second, timings.generated_per_second) == (5.0, 2.0)
