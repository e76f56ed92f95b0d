"""SamplingParams: defaults, checks, and the mapping for the native sampler."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bactrian.errors import InvalidArgumentError
from bactrian.params import RANDOM_SEED, SAMPLER_NAMES, SamplingParams


def test_defaults_are_those_of_llama_server():
    params = SamplingParams()
    assert (params.temperature, params.top_k, params.top_p, params.min_p) == (0.8, 40, 0.95, 0.05)
    assert (params.repeat_last_n, params.repeat_penalty, params.seed) == (64, 1.0, -1)
    assert (params.dry_base, params.dry_allowed_length, params.xtc_threshold) == (1.75, 2, 0.1)
    assert params.max_tokens is None and params.n == 1


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("temperature", -0.1, "temperature must be at least 0, not -0.1"),
        ("temperature", math.nan, "temperature must be finite, not nan"),
        ("temperature", math.inf, "temperature must be finite"),
        ("temperature", "hot", "temperature must be a number, not 'hot'"),
        ("top_k", 1.5, "top_k must be an integer, not 1.5"),
        ("top_k", True, "top_k must be an integer, not True"),
        ("top_p", 1.01, "top_p must be between 0 and 1, not 1.01"),
        ("min_p", -1, "min_p must be between 0 and 1"),
        ("repeat_penalty", 0, "repeat_penalty must be at least"),
        ("mirostat", 3, "mirostat must be between 0 and 2, not 3"),
        ("n", 0, "n must be between 1 and 1024, not 0"),
        ("seed", 2**63, "seed must be between -1 and"),
        ("seed", "x", "seed must be an integer, not 'x'"),
        ("max_tokens", -1, "max_tokens must be at least 0, not -1"),
        ("logprobs", -1, "logprobs must be at least 0"),
        ("ignore_eos", 1, "ignore_eos must be True or False"),
        ("stop", 5, "stop must be a string or a list of strings"),
        ("stop", ["a", 5], "stop must contain strings only, not 5"),
        ("samplers", ["top_q"], "there is no sampler named 'top_q'; known are: penalties"),
        ("logit_bias", [1], "logit_bias must map token ids"),
        ("logit_bias", {"1": 1.0}, "'1' is not a token id"),
        ("logit_bias", {1: "x"}, "'x' is not a number"),
        ("logit_bias", {1: math.nan}, "must not be nan"),
    ],
)
def test_a_wrong_value_is_named(name, value, complaint):
    with pytest.raises(InvalidArgumentError) as caught:
        SamplingParams(**{name: value})
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("given_stop", "kept"),
    [("green", ("green",)), (None, ()), (["", "a"], ("a",)), ([], ()), (("x", "y"), ("x", "y"))],
)
def test_stop_is_a_string_or_several_and_empty_ones_are_ignored(given_stop, kept):
    assert SamplingParams(stop=given_stop).stop == kept


def test_samplers_may_be_spelled_as_letters_or_other_names():
    params = SamplingParams(samplers=("k", "nucleus", "temp", "typical_p"))
    assert params.samplers == ("top_k", "top_p", "temperature", "typ_p")
    spellings = [s for group in SAMPLER_NAMES.values() for s in group]
    assert len(set(spellings)) == len(spellings)


def test_with_changes_replaces_values_and_refuses_unknown_names():
    params = SamplingParams(top_k=3).with_changes(temperature=0)
    assert (params.top_k, params.temperature) == (3, 0)
    with pytest.raises(InvalidArgumentError, match="no sampling parameter named 'temprature'"):
        params.with_changes(temprature=0)
    with pytest.raises(InvalidArgumentError, match="top_k"):
        params.with_changes(top_k=-1)


def test_native_has_no_text_and_nothing_the_sampler_does_not_know():
    values = SamplingParams(stop="x", max_tokens=3, seed=7).native(dry_breakers=[(1, 2)])
    assert not {"stop", "max_tokens", "n", "ignore_eos", "logprobs", "show_special"} & set(values)
    assert values["seed"] == 7
    assert values["dry_sequence_breakers"] == [[1, 2]]
    assert SamplingParams().native()["seed"] == RANDOM_SEED


def test_ignore_eos_forbids_every_end_token_and_keeps_other_biases():
    params = SamplingParams(ignore_eos=True, logit_bias={5: 1.0, 9: 100})
    bias = params.native(eog_ids=(2, 9))["logit_bias"]
    assert bias == {5: 1.0, 2: -math.inf, 9: -math.inf}
    params = SamplingParams(logit_bias={9: 1.0})
    assert params.native(eog_ids=(2, 9))["logit_bias"] == {9: 1.0}
    assert params.native(suppressed_ids=(4,))["logit_bias"] == {9: 1.0, 4: -math.inf}


def test_a_target_puts_adaptive_p_at_the_end_of_the_chain():
    chain = SamplingParams(adaptive_target=0.3, samplers=("top_k",)).native()["samplers"]
    assert chain == ["top_k", "adaptive_p"]
    params = SamplingParams(adaptive_target=0.3, samplers=("adaptive_p", "top_k"))
    assert params.native()["samplers"] == ["adaptive_p", "top_k"]
    assert "adaptive_p" not in SamplingParams().native()["samplers"]


def test_only_infill_is_told_the_text_of_tokens():
    given_vocabulary = {"eog_ids": (2,), "token_bytes": [b"a", b"b", b""]}
    assert "token_bytes" not in SamplingParams().native(**given_vocabulary)
    values = SamplingParams(samplers=("infill",)).native(**given_vocabulary)
    assert (values["token_bytes"], values["end_tokens"]) == ([b"a", b"b", b""], [2])


@given(
    st.sampled_from(["temperature", "top_k", "top_p", "seed", "n", "stop", "logit_bias"]),
    st.one_of(st.none(), st.floats(), st.integers(), st.text(), st.lists(st.integers())),
)
def test_any_value_is_either_taken_or_refused_with_a_named_complaint(name, value):
    try:
        SamplingParams(**{name: value})
    except InvalidArgumentError as error:
        assert name in str(error)
