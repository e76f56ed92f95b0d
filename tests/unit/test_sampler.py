"""Samplers of the chain: each, and any chain of them, against a plain model of the rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bactrian.params import DEFAULT_SAMPLERS
from reference.sampler_testing import SEED, logits_of, mask_of, sampler
from reference.samplers import Model, softmax


def check_against_model(params: dict, logits, history=(), n_draws: int = 3, allowed=None) -> None:
    """Draws some tokens with both; candidates, probabilities and tokens must agree."""
    logits = np.asarray(logits, np.float32)
    model = Model(params, seed=SEED, history=list(history))
    ours = sampler(len(logits), **params)
    ours.accept(list(history))
    mask = None if allowed is None else mask_of(len(logits), allowed)
    for _ in range(n_draws):
        left = model.candidates([float(x) for x in logits], allowed)
        expected = {c[0]: p for c, p in zip(left, softmax(left), strict=True) if p > 1e-37}
        token = ours.sample(logits, mask)
        actual = dict(ours.probabilities())
        assert {t for t, p in actual.items() if p > 1e-37} == set(expected)
        for t, p in expected.items():
            assert actual[t] == pytest.approx(p, rel=1e-4)
        assert token == model.draw(left)


HISTORY = [5, 9, 9, 2, 5, 9, 9, 2, 5, 9, 30, 5, 9]

CASES = [
    ("penalties", {"repeat_penalty": 1.3}),
    ("penalties", {"repeat_penalty": 0.7}),
    ("penalties", {"frequency_penalty": 0.4, "presence_penalty": -0.3}),
    ("penalties", {"repeat_penalty": 2.0, "frequency_penalty": 0.5, "repeat_last_n": 4}),
    ("penalties", {"repeat_penalty": 2.0, "repeat_last_n": -1}),
    ("penalties", {"repeat_penalty": 2.0, "repeat_last_n": 0}),
    ("dry", {"dry_multiplier": 0.8}),
    ("dry", {"dry_multiplier": 0.8, "dry_base": 1.0, "dry_allowed_length": 1}),
    ("dry", {"dry_multiplier": 0.8, "dry_base": 0.5}),
    ("dry", {"dry_multiplier": 0.8, "dry_allowed_length": 0}),
    ("dry", {"dry_multiplier": 0.8, "dry_penalty_last_n": 6}),
    ("dry", {"dry_multiplier": 0.8, "dry_penalty_last_n": -1}),
    ("dry", {"dry_multiplier": 0.8, "dry_sequence_breakers": [[30]], "dry_allowed_length": 1}),
    ("dry", {"dry_multiplier": 0.8, "dry_sequence_breakers": [[9, 30], [9]]}),
    ("dry", {"dry_multiplier": 0.8, "dry_sequence_breakers": [[2, 5]], "dry_allowed_length": 1}),
    ("top_n_sigma", {"top_n_sigma": 1.0}),
    ("top_n_sigma", {"top_n_sigma": 0.5}),
    ("top_n_sigma", {"top_n_sigma": 0.0}),
    ("top_k", {"top_k": 1}),
    ("top_k", {"top_k": 7}),
    ("top_k", {"top_k": 0}),
    ("top_k", {"top_k": 100000}),
    ("typ_p", {"typical_p": 0.5}),
    ("typ_p", {"typical_p": 0.0}),
    ("typ_p", {"typical_p": 0.9, "min_keep": 12}),
    ("typ_p", {"typical_p": 1.0}),
    ("top_p", {"top_p": 0.6}),
    ("top_p", {"top_p": 0.0}),
    ("top_p", {"top_p": 0.3, "min_keep": 9}),
    ("top_p", {"top_p": 1.0}),
    ("min_p", {"min_p": 0.1}),
    ("min_p", {"min_p": 1.0}),
    ("min_p", {"min_p": 0.9, "min_keep": 6}),
    ("min_p", {"min_p": 0.0}),
    ("xtc", {"xtc_probability": 1.0, "xtc_threshold": 0.05}),
    ("xtc", {"xtc_probability": 0.5, "xtc_threshold": 0.02}),
    ("xtc", {"xtc_probability": 1.0, "xtc_threshold": 0.05, "min_keep": 47}),
    ("xtc", {"xtc_probability": 1.0, "xtc_threshold": 0.0}),
    ("xtc", {"xtc_probability": 1.0, "xtc_threshold": 0.51}),
    ("xtc", {"xtc_probability": 0.0, "xtc_threshold": 0.05}),
    ("temperature", {"temperature": 0.0}),
    ("temperature", {"temperature": -1.0}),
    ("temperature", {"temperature": 0.3}),
    ("temperature", {"temperature": 1.0}),
    ("temperature", {"temperature": 2.5}),
    ("temperature", {"temperature": 1.0, "dynatemp_range": 0.5}),
    ("temperature", {"temperature": 0.5, "dynatemp_range": 2.0, "dynatemp_exponent": 3.0}),
    ("temperature", {"temperature": 1.0, "dynatemp_range": 0.5, "dynatemp_exponent": 0.0}),
]


@pytest.mark.parametrize(("name", "params"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_each_sampler(name: str, params: dict, seed: int) -> None:
    check_against_model({"samplers": [name], **params}, logits_of(50, seed), HISTORY)


@pytest.mark.parametrize(("name", "params"), CASES)
def test_each_sampler_after_a_filter(name: str, params: dict) -> None:
    """Behind top_k the candidates are a list in another order."""
    params = {"top_k": 30, **params, "samplers": ["top_k", name]}
    check_against_model(params, logits_of(50, 9, scale=1.0), HISTORY)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_each_sampler_twice(name: str) -> None:
    values = {"repeat_penalty": 1.3, "dry_multiplier": 0.8, "top_n_sigma": 1.5, "top_p": 0.7}
    values |= {"typical_p": 0.8, "xtc_probability": 0.6, "xtc_threshold": 0.03, "temperature": 0.7}
    check_against_model({"samplers": [name, name], **values}, logits_of(60, 4), HISTORY)


def test_default_chain() -> None:
    check_against_model({"samplers": list(DEFAULT_SAMPLERS)}, logits_of(3000, 1), HISTORY, 30)


ORDERS = st.lists(st.sampled_from(DEFAULT_SAMPLERS), max_size=9)


@settings(max_examples=300)
@given(data=st.data())
def test_any_chain(data: st.DataObject) -> None:
    def number(low: float, high: float) -> st.SearchStrategy[float]:
        return st.floats(low, high).map(lambda x: round(x, 3))

    def draw(strategy: st.SearchStrategy) -> object:
        return data.draw(strategy)

    n_vocab = draw(st.integers(1, 70))
    logits = logits_of(n_vocab, draw(st.integers(0, 999)), scale=draw(st.sampled_from([0.5, 3.0])))
    tokens = st.integers(0, n_vocab - 1)
    params = {
        "samplers": draw(ORDERS),
        "min_keep": draw(st.integers(0, 5)),
        "temperature": draw(st.sampled_from([0.0, 0.5, 0.8, 1.0, 1.7])),
        "dynatemp_range": draw(st.sampled_from([0.0, 0.3])),
        "top_k": draw(st.integers(0, 80)),
        "top_p": draw(number(0.05, 1)),
        "min_p": draw(number(0, 0.9)),
        "typical_p": draw(number(0.05, 1)),
        # Not 2: of two candidates the lower lies at exactly two deviations, where rounding decides.
        "top_n_sigma": draw(st.sampled_from([-1.0, 0.8, 1.9])),
        "xtc_probability": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "xtc_threshold": draw(number(0.01, 0.6)),
        "repeat_penalty": draw(number(0.5, 2)),
        "frequency_penalty": draw(number(-1, 1)),
        "presence_penalty": draw(number(-1, 1)),
        "repeat_last_n": draw(st.integers(-1, 20)),
        "dry_multiplier": draw(st.sampled_from([0.0, 0.9])),
        "dry_allowed_length": draw(st.integers(0, 4)),
        "dry_penalty_last_n": draw(st.integers(-1, 30)),
        "dry_sequence_breakers": draw(
            st.lists(st.lists(tokens, min_size=1, max_size=3), max_size=3)
        ),
        "logit_bias": draw(st.dictionaries(tokens, number(-5, 5), max_size=3)),
    }
    history = draw(st.lists(tokens, max_size=40))
    check_against_model(params, logits, history)


@settings(max_examples=150)
@given(
    history=st.lists(st.integers(0, 2), max_size=60),
    allowed_length=st.integers(0, 5),
    breakers=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), max_size=2),
)
def test_dry_on_repetitive_text(history, allowed_length: int, breakers) -> None:
    params = {
        "samplers": ["dry"],
        "dry_multiplier": 0.01,
        "dry_base": 1.1,
        "dry_allowed_length": allowed_length,
        "dry_penalty_last_n": -1,
        "dry_sequence_breakers": breakers,
    }
    check_against_model(params, [0.0, 0.1, 0.2], history)


def test_mask_and_bias_come_first() -> None:
    logits = logits_of(100, 3)
    allowed = set(range(0, 100, 7))
    check_against_model({"samplers": ["top_k"], "top_k": 3}, logits, allowed=allowed)
    ours = sampler(100, samplers=["top_k"], top_k=3, logit_bias={14: 1000.0, 15: 2000.0})
    assert all(ours.sample(logits, mask_of(100, allowed)) == 14 for _ in range(5))


def test_equal_candidates_go_by_id() -> None:
    ours = sampler(2000, samplers=["top_k"], top_k=3)
    ours.sample(np.zeros(2000, np.float32))
    assert [t for t, _ in ours.probabilities()] == [0, 1, 2]


def test_large_nucleus() -> None:
    """More than the few that top_p looks at first."""
    check_against_model({"samplers": ["top_p"], "top_p": 0.9}, logits_of(5000, 2, 1.0), n_draws=1)
