"""The scheduler alone: queues and counts in, decisions out."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bactrian.engine.scheduler import Entry, Limits, Row, admit, plan

LIMITS = Limits(n_pages=8, page_tokens=4, step_tokens=10)


def entry(order, n_tokens, n_cached=0, priority=0, **more):
    return Entry(order=order, priority=priority, n_tokens=n_tokens, n_cached=n_cached, **more)


def test_decoding_rows_come_first_and_prompts_fill_the_budget():
    running = [entry(1, 30, 8), entry(2, 9, 8), entry(3, 5, 4)]
    step = plan(running, n_free_pages=8, limits=replace(LIMITS, n_pages=16))
    assert step.rows == (Row(2, 1, last=True), Row(3, 1, last=True), Row(1, 8, last=False))


def test_the_last_piece_of_a_prompt_draws_and_the_next_prompt_takes_the_rest():
    running = [entry(1, 10, 4), entry(2, 20)]
    step = plan(running, n_free_pages=8, limits=LIMITS)
    assert step.rows == (Row(1, 6, last=True), Row(2, 4, last=False))


def test_a_single_missing_token_counts_as_decoding():
    assert plan([entry(1, 1)], 8, LIMITS).rows == (Row(1, 1, last=True),)


def test_urgent_prompts_go_first():
    running = [entry(1, 20), entry(2, 20, priority=1)]
    assert plan(running, 8, LIMITS).rows == (Row(2, 10, last=False),)


def test_without_pages_the_youngest_of_the_lowest_priority_gives_way():
    running = [entry(1, 9, 8), entry(2, 9, 8), entry(3, 9, 8, priority=1)]
    assert plan(running, 3, LIMITS).preempt is None
    step = plan(running, 2, LIMITS)
    assert step.preempt == 2 and step.rows == ()


def test_the_last_one_left_never_gives_way():
    step = plan([entry(1, 9, 8)], 0, LIMITS)
    assert step.preempt is None and step.rows == (Row(1, 1, last=True),)


def test_a_shared_tail_costs_a_page_to_write_to():
    running = [entry(1, 7, 6), entry(2, 7, 6, shared_tail=True)]
    assert plan(running, 1, LIMITS).preempt is None
    assert plan(running, 0, LIMITS).preempt == 2


def test_first_come_first_served_within_a_priority():
    waiting = [entry(3, 4), entry(1, 4), entry(2, 4, priority=1)]
    assert admit(waiting, [], 8, LIMITS) == [2, 1, 3]


def test_nobody_overtakes_one_that_does_not_fit():
    waiting = [entry(1, 20), entry(2, 3)]
    assert admit(waiting, [entry(0, 8, 8)], 6, LIMITS) == []
    assert admit(waiting, [entry(0, 8, 8)], 8, LIMITS) == [1]


def test_an_idle_engine_always_starts_the_first():
    assert admit([entry(1, 32), entry(2, 1)], [], 8, LIMITS) == [1]
    assert admit([entry(1, 4, n_answers=99)], [], 8, LIMITS) == [1]


def test_room_is_kept_for_what_running_ones_will_need():
    running = [entry(0, 20, 4)]
    assert admit([entry(1, 7)], running, 6, LIMITS) == []
    assert admit([entry(1, 7)], running, 7, LIMITS) == [1]


def test_sequences_never_outnumber_the_tokens_of_a_step():
    running = [entry(i, 5, 4) for i in range(9)]
    limits = Limits(n_pages=1000, page_tokens=4, step_tokens=10)
    assert admit([entry(20, 4), entry(21, 4)], running, 1000, limits) == [20]


class Simulation:
    """A context that only counts: runs requests to their end with the real scheduler."""

    def __init__(self, requests, limits):
        self.limits = limits
        self.waiting = {i: entry(i, n_prompt, priority=p) for i, (n_prompt, _, p) in requests}
        self.target = {i: n_prompt + n_new for i, (n_prompt, n_new, _) in requests}
        self.running = {}
        self.n_steps = 0

    @property
    def n_free(self):
        held = sum(self.limits.pages(e.n_cached) for e in self.running.values())
        return self.limits.n_pages - held

    def step(self):
        self.n_steps += 1
        for order in admit(
            [*self.waiting.values()], [*self.running.values()], self.n_free, self.limits
        ):
            self.running[order] = self.waiting.pop(order)
        while (
            step := plan([*self.running.values()], self.n_free, self.limits)
        ).preempt is not None:
            self.waiting[step.preempt] = replace(self.running.pop(step.preempt), n_cached=0)
        assert step.rows, "a step always gets something done"
        assert sum(row.n_tokens for row in step.rows) <= self.limits.step_tokens
        for row in step.rows:
            e = self.running[row.order]
            assert row.n_tokens <= e.n_missing and row.last == (row.n_tokens == e.n_missing)
            e = replace(e, n_cached=e.n_cached + row.n_tokens)
            if row.last:
                e = replace(e, n_tokens=e.n_tokens + 1)
            self.running[row.order] = e
            assert self.n_free >= 0, "no step takes pages that are not there"
            if e.n_tokens >= self.target[row.order]:
                del self.running[row.order]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 31), st.integers(1, 31), st.integers(0, 2)).filter(
            lambda r: r[0] + r[1] <= 32
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(2, 40),
)
def test_every_request_that_fits_alone_comes_to_its_end(requests, step_tokens):
    simulation = Simulation(list(enumerate(requests)), replace(LIMITS, step_tokens=step_tokens))
    while simulation.waiting or simulation.running:
        simulation.step()
        assert simulation.n_steps < 20_000
