"""Samplers beside the chain: mirostat, adaptive_p and infill, against their formulas."""

import itertools
import math

import numpy as np
import pytest

from bactrian.errors import InvalidArgumentError
from reference.sampler_testing import SEED, logits_of, sampler
from reference.samplers import softmax, uniform


def plain_softmax(logits: dict[int, float]) -> dict[int, float]:
    ids = list(logits)
    return dict(zip(ids, softmax([(i, logits[i]) for i in ids]), strict=True))


def expected_draw(left: dict[int, float], index: int) -> tuple[int, float]:
    target, total = uniform(SEED, index, 0), 0.0
    for token, p in plain_softmax(left).items():
        total += p
        if total > target:
            return token, p
    raise AssertionError("probabilities don't add up")


def ordered(logits: np.ndarray) -> dict[int, float]:
    return {int(i): float(logits[i]) for i in np.argsort(-logits, kind="stable")}


@pytest.mark.parametrize("tau", [1.0, 3.0, 5.0])
def test_mirostat_v2(tau: float) -> None:
    ours = sampler(80, mirostat=2, mirostat_tau=tau, mirostat_eta=0.2, temperature=1.0)
    mu = 2 * tau
    for index in range(40):
        logits = logits_of(80, index)
        left = ordered(logits)
        probabilities = plain_softmax(left)
        kept = {t: x for t, x in left.items() if -math.log2(probabilities[t]) <= mu}
        kept = kept or dict(itertools.islice(left.items(), 1))
        token, p = expected_draw(kept, index)
        assert ours.sample(logits) == token
        assert len(ours.probabilities()) == len(kept)
        mu -= 0.2 * (-math.log2(p) - tau)


@pytest.mark.parametrize("tau", [1.0, 3.0, 5.0])
def test_mirostat_v1(tau: float) -> None:
    n_vocab = 300
    ours = sampler(n_vocab, mirostat=1, mirostat_tau=tau, mirostat_eta=0.2, temperature=0.9)
    mu = 2 * tau
    for index in range(40):
        logits = logits_of(n_vocab, index)
        left = ordered((logits / np.float64(0.9)).astype(np.float32))
        p = list(plain_softmax(left).values())[:100]
        t = [math.log((i + 2) / (i + 1)) for i in range(99)]
        b = [math.log(p[i] / p[i + 1]) for i in range(99)]
        s = sum(x * y for x, y in zip(t, b, strict=True)) / sum(x * x for x in t)
        e = s - 1
        k = int((e * 2**mu / (1 - n_vocab**-e)) ** (1 / s))
        kept = dict(itertools.islice(left.items(), max(1, k)))
        token, chosen_p = expected_draw(kept, index)
        assert ours.sample(logits) == token
        assert len(ours.probabilities()) == len(kept)
        mu -= 0.2 * (-math.log2(chosen_p) - tau)


def test_mirostat_replaces_the_chain() -> None:
    logits = logits_of(50, 1, scale=0.3)
    ours = sampler(50, mirostat=2, samplers=["top_k"], top_k=1, mirostat_tau=9.0)
    ours.sample(logits)
    assert len(ours.probabilities()) == 50


@pytest.mark.parametrize("target", [0.0, 0.3, 0.8])
def test_adaptive_p(target: float) -> None:
    decay = 0.7
    ours = sampler(60, samplers=["adaptive_p"], adaptive_target=target, adaptive_decay=decay)
    weighted, total = target / (1 - decay), 1 / (1 - decay)
    for index in range(40):
        logits = logits_of(60, index, scale=1.5)
        before = plain_softmax(ordered(logits))
        aim = min(1.0, max(0.0, 2 * target - weighted / total))
        distance = {t: abs(p - aim) / 0.3 for t, p in before.items()}
        new = {t: 5 - 10 * d * d / (1 + d) for t, d in distance.items()}
        falling = dict(sorted(new.items(), key=lambda c: (-c[1], c[0])))
        token = ours.sample(logits)
        actual = dict(ours.probabilities())
        for t, p in plain_softmax(falling).items():
            assert actual[t] == pytest.approx(p, rel=1e-3)
        weighted, total = before[token] + decay * weighted, 1 + decay * total


def test_adaptive_p_draws_last_wherever_it_stands() -> None:
    params = {"top_k": 5, "adaptive_target": 0.3}
    a = sampler(60, samplers=["adaptive_p", "top_k"], **params)
    b = sampler(60, samplers=["top_k", "adaptive_p"], **params)
    for i in range(20):
        assert a.sample(logits_of(60, i)) == b.sample(logits_of(60, i))
        assert a.probabilities() == b.probabilities()


def test_adaptive_p_off() -> None:
    off = sampler(60, samplers=["adaptive_p"], adaptive_target=-1.0)
    plain = sampler(60)
    assert [off.sample(logits_of(60, i)) for i in range(20)] == [
        plain.sample(logits_of(60, i)) for i in range(20)
    ]


def infill_left(probabilities: dict[bytes, float], end: float) -> dict[int, float]:
    """Candidates that infill leaves; the token after the texts is the end token."""
    texts = list(probabilities)
    logits = np.log(np.array([*probabilities.values(), end], np.float32))
    ours = sampler(
        len(texts) + 1, samplers=["infill"], token_bytes=[*texts, b""], end_tokens=[len(texts)]
    )
    ours.sample(logits)
    return dict(ours.probabilities())


def test_infill_ends_when_the_end_is_likely() -> None:
    assert set(infill_left({b"a": 0.5, b"b": 0.2, b"c": 0.1}, end=0.2)) == {3}


def test_infill_merges_prefixes_into_the_likelier() -> None:
    left = infill_left({b"re": 0.30, b"return": 0.31, b"x": 0.38}, end=0.01)
    assert set(left) == {1, 2, 3}
    assert left[1] == pytest.approx(0.61)
    assert left[2] == pytest.approx(0.38)


def test_infill_drops_unlikely_text() -> None:
    left = infill_left({b"a": 0.7, b"b": 0.25, b"c": 0.045}, end=0.005)
    # b is above 0.2, but below an even share of what is left.
    assert set(left) == {0, 3}


def test_infill_ends_when_no_text_is_likely() -> None:
    texts = {bytes([97 + i]): 0.099 for i in range(10)}
    assert set(infill_left(texts, end=0.01)) == {10}


def test_infill_needs_the_vocabulary() -> None:
    with pytest.raises(InvalidArgumentError, match="token_bytes"):
        sampler(3, samplers=["infill"])
    with pytest.raises(InvalidArgumentError, match="token_bytes has 2"):
        sampler(3, samplers=["infill"], token_bytes=[b"a", b"b"], end_tokens=[0])
    with pytest.raises(InvalidArgumentError, match="end_tokens"):
        sampler(2, samplers=["infill"], token_bytes=[b"a", b"b"])
