"""Parameters of the native sampler: what is understood and what is refused."""

import math

import numpy as np
import pytest

from bactrian import _core
from bactrian.errors import InvalidArgumentError
from bactrian.params import SamplingParams
from reference.sampler_testing import logits_of, sampler


def test_params_of_the_package_are_understood() -> None:
    native = SamplingParams(seed=3, logit_bias={1: -math.inf}).native(
        suppressed_ids=[2], dry_breakers=[[5], [6, 7]]
    )
    ours = _core.Sampler(native, 10)
    assert ours.seed == 3
    for _ in range(50):
        assert ours.sample(np.zeros(10, np.float32)) not in (1, 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tempature": 1.0}, "tempature.*temperature.*seed"),
        ({"temperature": "hot"}, "temperature must be a number"),
        ({"temperature": True}, "temperature must be a number"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"top_k": 1.5}, "top_k must be an integer"),
        ({"top_k": True}, "top_k must be an integer"),
        ({"top_k": 2**40}, "top_k is 1099511627776"),
        ({"top_k": 2**80}, "top_k must be an integer"),
        ({"top_p": -0.1}, "top_p"),
        ({"seed": 2**32}, "seed is 4294967296"),
        ({"seed": -2}, "seed is -2"),
        ({"seed": "x"}, "seed must be an integer"),
        ({"samplers": "top_k"}, "samplers must be a sequence"),
        ({"samplers": ["top_q"]}, "top_q.*top_k"),
        ({"samplers": [3]}, "samplers must be a sequence"),
        ({"logit_bias": [1]}, "logit_bias must be a mapping"),
        ({"logit_bias": {9: 1.0}}, "token 9"),
        ({"logit_bias": {2**40: 1.0}}, "32-bit"),
        ({"logit_bias": {0: math.nan}}, "logit_bias of token 0 is nan"),
        ({"logit_bias": {0: math.inf}}, "logit_bias of token 0 is inf"),
        ({"logit_bias": {"0": 1.0}}, "must be an integer"),
        ({"dry_sequence_breakers": "abc"}, "dry_sequence_breakers must be a sequence"),
        ({"dry_sequence_breakers": [[]]}, "without tokens"),
        ({"dry_sequence_breakers": [[9]]}, "token 9"),
        ({"token_bytes": ["text"]}, "must be bytes"),
        ([("temperature", 1.0)], "params must be a mapping"),
        ({1: 2}, "name of params"),
    ],
)
def test_wrong_params(params, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        _core.Sampler(params, 9)


def test_other_spellings_of_samplers() -> None:
    for one, other in (("typ_p", "typical"), ("temperature", "temp"), ("top_p", "nucleus")):
        values = {"typical_p": 0.5, "temperature": 0.5, "top_p": 0.5}
        a = sampler(40, samplers=[one], **values)
        b = sampler(40, samplers=[other], **values)
        assert a.sample(logits_of(40, 0)) == b.sample(logits_of(40, 0))
        assert a.probabilities() == b.probabilities()
