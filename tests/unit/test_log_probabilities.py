"""Log-probabilities of raw logits."""

import numpy as np
import pytest

from bactrian import _core
from bactrian.errors import InvalidArgumentError, NonFiniteError
from reference.sampler_testing import logits_of


def test_log_probabilities() -> None:
    logits = logits_of(6000, 1).reshape(3, 2000)
    expected = logits.astype(np.float64)
    expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    for n_top in (0, 1, 5, 300, 2000):
        ids, top, drawn = _core.log_probabilities(logits, n_top, [0, 1999, 7])
        assert ids.shape == top.shape == (3, n_top)
        assert (ids.dtype, top.dtype, drawn.dtype) == (np.int32, np.float32, np.float32)
        order = np.argsort(-logits, axis=1, kind="stable")[:, :n_top]
        np.testing.assert_array_equal(ids, order)
        np.testing.assert_allclose(top, np.take_along_axis(expected, order, 1), atol=1e-5)
        np.testing.assert_allclose(drawn, expected[[0, 1, 2], [0, 1999, 7]], atol=1e-5)


@pytest.mark.parametrize(
    ("logits", "n_top", "tokens", "message"),
    [
        (np.zeros((1, 4), np.float32), 5, [0], "n_top is 5"),
        (np.zeros((1, 4), np.float32), -1, [0], "n_top is -1"),
        (np.zeros((1, 4), np.float32), 1, [4], "token id 4"),
        (np.zeros((1, 4), np.float32), 1, [-1], "token id -1"),
        (np.zeros((1, 4), np.float32), 1, [0, 0], "2 tokens, but 1 rows"),
        (np.zeros(4, np.float32), 1, [0], "1 dimensions"),
        (np.zeros((1, 4)), 1, [0], "float32"),
    ],
)
def test_log_probabilities_of_wrong_arguments(logits, n_top: int, tokens, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        _core.log_probabilities(logits, n_top, tokens)


def test_log_probabilities_of_unusable_logits() -> None:
    with pytest.raises(NonFiniteError):
        _core.log_probabilities(np.full((1, 3), np.nan, np.float32), 1, [0])
