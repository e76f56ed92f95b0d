"""Draws: their distribution, what they depend on, rows of them, and unusable logits."""

import threading

import numpy as np
import pytest

from bactrian import _core
from bactrian.errors import InvalidArgumentError, NonFiniteError
from bactrian.params import DEFAULT_SAMPLERS
from reference.sampler_testing import logits_of, mask_of, sampler


@pytest.mark.parametrize("chain", [[], ["top_k"], ["temperature"]])
def test_draws_follow_the_distribution(chain: list[str]) -> None:
    p = np.array([0.35, 0.05, 0.2, 0.001, 0.399])
    logits = np.log(p).astype(np.float32)
    ours = sampler(5, samplers=chain, top_k=5, temperature=1.0)
    n = 20000
    counts = np.bincount([ours.sample(logits) for _ in range(n)], minlength=5)
    chi_square = ((counts - n * p) ** 2 / (n * p)).sum()
    assert chi_square < 18.47  # the 0.999 quantile with 4 degrees of freedom; the seed is fixed


def test_the_same_seed_gives_the_same_tokens() -> None:
    def run(seed: int) -> list[int]:
        ours = sampler(200, seed=seed)
        return [ours.sample(logits_of(200, i, 1.0)) for i in range(50)]

    assert run(42) == run(42)
    assert run(42) != run(43)


def test_draws_do_not_depend_on_the_prompt_nor_on_neighbours() -> None:
    logits = np.stack([logits_of(100, i) for i in range(30)])
    alone = sampler(100, samplers=list(DEFAULT_SAMPLERS))
    expected = [alone.sample(row) for row in logits]
    prompted = sampler(100, samplers=list(DEFAULT_SAMPLERS))
    prompted.accept([1, 2, 3])
    others = [sampler(100, seed=i) for i in range(3)]
    for row, token in zip(logits, expected, strict=True):
        rows = np.stack([row, row, row, row])
        assert _core.sample_rows([others[0], others[1], prompted, others[2]], rows)[2] == token


def test_random_seeds() -> None:
    for seed in (None, -1, 0xFFFFFFFF):
        chosen = {sampler(5, seed=seed).seed for _ in range(5)}
        assert len(chosen) > 1
        assert 0xFFFFFFFF not in chosen
    reported = sampler(300, seed=None)
    again = sampler(300, seed=reported.seed)
    logits = logits_of(300, 1, 1.0)
    assert [reported.sample(logits) for _ in range(20)] == [again.sample(logits) for _ in range(20)]
    assert sampler(5, seed=2**32 - 2).seed == 2**32 - 2


def test_clone_goes_on_alike() -> None:
    params = {"samplers": list(DEFAULT_SAMPLERS), "repeat_penalty": 1.5, "dry_multiplier": 0.8}
    for extra in ({}, {"mirostat": 1}, {"mirostat": 2}):
        ours = sampler(100, **params, **extra)
        ours.accept([3, 4, 3, 4])
        ours.sample(logits_of(100, 0))
        copy = ours.clone()
        assert copy.seed == ours.seed
        assert copy.probabilities() == ours.probabilities()
        first = [ours.sample(logits_of(100, i)) for i in range(30)]
        assert [copy.sample(logits_of(100, i)) for i in range(30)] == first


def test_drawn_tokens_are_in_the_history() -> None:
    ours = sampler(3, samplers=["penalties", "temperature"], temperature=0.0, presence_penalty=5.0)
    logits = np.array([1.0, 2.0, 3.0], np.float32)
    assert [ours.sample(logits) for _ in range(3)] == [2, 1, 0]


def test_accept_takes_one_or_many() -> None:
    logits = np.array([1.0, 2.0, 3.0], np.float32)
    for tokens in (2, [2], (2,), np.array([2], np.int32), np.int64(2)):
        ours = sampler(3, samplers=["penalties"], presence_penalty=1e6)
        ours.accept(tokens)
        ours.sample(logits)
        assert ours.probabilities()[0][0] == 1
    with pytest.raises(InvalidArgumentError, match="outside"):
        sampler(3).accept([0, 3])


def test_logits_may_be_a_list_or_doubles() -> None:
    assert sampler(3, samplers=["top_k"], top_k=1).sample([0.0, 5.0, 1.0]) == 1
    assert sampler(3, samplers=["top_k"], top_k=1).sample(np.array([0.0, 5.0, 1.0])) == 1


def test_threads_may_share_a_sampler() -> None:
    ours = sampler(500)
    logits = logits_of(500, 0)

    def work() -> None:
        for _ in range(200):
            ours.sample(logits)
            ours.probabilities()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 800 tokens were drawn: the next one is the 801st.
    alone = sampler(500)
    for _ in range(800):
        alone.sample(logits)
    assert ours.sample(logits) == alone.sample(logits)


def test_a_bad_row_leaves_the_others_alone() -> None:
    logits = np.stack([logits_of(50, i) for i in range(4)])
    expected = [sampler(50, seed=i).sample(logits[i]) for i in range(4)]
    logits[1, 7] = np.nan
    logits[2] = -np.inf
    tokens = _core.sample_rows([sampler(50, seed=i) for i in range(4)], logits)
    assert tokens.dtype == np.int32
    assert tokens.tolist() == [expected[0], -1, -1, expected[3]]


def test_rows_with_masks() -> None:
    logits = np.zeros((3, 40), np.float32)
    masks = [mask_of(40, {5}), None, np.zeros(2, np.uint32)]
    tokens = _core.sample_rows([sampler(40, seed=i) for i in range(3)], logits, masks)
    assert tokens[0] == 5
    assert tokens[1] == sampler(40, seed=1).sample(logits[1])
    assert tokens[2] == -1


def test_no_rows() -> None:
    assert _core.sample_rows([], np.zeros((0, 5), np.float32)).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: _core.sample_rows([s], np.zeros((2, 40), np.float32)), "1 samplers, but 2"),
        (lambda s: _core.sample_rows([s], np.zeros((1, 41), np.float32)), "41 logits"),
        (lambda s: _core.sample_rows([s], np.zeros((1, 40))), "float32"),
        (lambda s: _core.sample_rows([s], np.zeros(40, np.float32)), "1 dimensions"),
        (lambda s: _core.sample_rows([s], np.zeros((1, 40), np.float32), []), "0 masks"),
        (lambda s: _core.sample_rows([None], np.zeros((1, 40), np.float32)), "None"),
        (lambda s: s.sample(np.zeros(40, np.float32), np.zeros(2, np.int64)), "uint32"),
        (lambda s: s.sample(np.zeros(40, np.float32), np.zeros(4, np.uint32)[::2]), "contiguous"),
        (lambda s: s.sample(np.zeros(40, np.float32), np.zeros(3, np.uint32)), "3 words"),
        (lambda s: s.sample(np.zeros((1, 40), np.float32)), "one row"),
        (lambda s: s.sample(np.zeros(39, np.float32)), "39 logits"),
    ],
)
def test_wrong_arrays(call, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        call(sampler(40))


def test_unusable_logits() -> None:
    ours = sampler(3)
    for bad in ([0, np.nan, 0], [0, np.inf, 0], [-np.inf] * 3):
        with pytest.raises(NonFiniteError):
            ours.sample(np.array(bad, np.float32))
    with pytest.raises(NonFiniteError, match="logit_bias"):
        sampler(2, logit_bias={0: -np.inf, 1: -np.inf}).sample([0.0, 0.0])
