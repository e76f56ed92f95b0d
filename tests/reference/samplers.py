"""The sampler chain once more: plain, slow, and written from the rules alone.

Candidates are lists of (token, logit). ``tests/unit/test_sampler.py`` compares the engine with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

Candidates = list[tuple[int, float]]

DEFAULTS: dict[str, object] = {
    "samplers": [],
    "logit_bias": {},
    "min_keep": 0,
    "temperature": 0.8,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "typical_p": 1.0,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.1,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "dry_sequence_breakers": [],
}


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10 (Salmon et al., 2011)."""
    c, (k0, k1), mask = list(counter), key, 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & mask, (a >> 32) ^ c[3] ^ k1, a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return c


def uniform(seed: int, index: int, purpose: int) -> float:
    high, low, _, _ = philox([index & 0xFFFFFFFF, index >> 32, 0, 0], [seed, purpose])
    return ((high << 32 | low) >> 11) / 2**53


def falling(candidates: Candidates) -> Candidates:
    return sorted(candidates, key=lambda c: (-c[1], c[0]))


def softmax(candidates: Candidates) -> list[float]:
    top = max(logit for _, logit in candidates)
    weights = [math.exp(logit - top) for _, logit in candidates]
    total = sum(weights)
    return [w / total for w in weights]


def entropy(candidates: Candidates) -> float:
    return -sum(p * math.log(p) for p in softmax(candidates) if p > 0)


@dataclass
class Model:
    """One sequence: parameters, seed, tokens so far."""

    params: dict
    seed: int = 0
    history: list[int] = field(default_factory=list)
    n_drawn: int = 0
    is_sorted: bool = False  # filters put the candidates in falling order, which then stays

    def __post_init__(self) -> None:
        self.params = {**DEFAULTS, **self.params}

    def candidates(self, logits: Sequence[float], allowed: set[int] | None = None) -> Candidates:
        """What is left after the chain."""
        self.is_sorted = False
        left = [
            (i, x if allowed is None or i in allowed else -math.inf) for i, x in enumerate(logits)
        ]
        bias = self.params["logit_bias"]
        left = [(i, x + bias.get(i, 0.0)) for i, x in left]
        for step, name in enumerate(self.active(), start=1):
            left = getattr(self, name)(left, step)
        return left

    def sort(self, left: Candidates) -> Candidates:
        self.is_sorted = True
        return falling(left)

    def resort(self, left: Candidates) -> Candidates:
        return falling(left) if self.is_sorted else left

    def active(self) -> list[str]:
        """Names that have an effect: steps are counted, and random numbers keyed, among these."""
        p = self.params
        used: dict[str, Callable[[], bool]] = {
            "penalties": lambda: (
                p["repeat_last_n"] != 0
                and (p["repeat_penalty"], p["frequency_penalty"], p["presence_penalty"])
                != (1, 0, 0)
            ),
            "dry": lambda: (
                p["dry_multiplier"] > 0 and p["dry_base"] >= 1 and p["dry_penalty_last_n"] != 0
            ),
            "xtc": lambda: p["xtc_probability"] > 0 and p["xtc_threshold"] <= 0.5,
        }
        return [name for name in p["samplers"] if used.get(name, lambda: True)()]

    def recent(self, n: int) -> list[int]:
        return (
            self.history if n < 0 else self.history[len(self.history) - min(n, len(self.history)) :]
        )

    def penalties(self, left: Candidates, _: int) -> Candidates:
        p = self.params
        window = self.recent(p["repeat_last_n"])
        result = []
        for token, old in left:
            logit, count = old, window.count(token)
            if count:
                logit = logit * p["repeat_penalty"] if logit <= 0 else logit / p["repeat_penalty"]
                logit -= count * p["frequency_penalty"] + p["presence_penalty"]
            result.append((token, logit))
        return self.resort(result)

    def breaker_distance(self, text: list[int]) -> int:
        """Tokens after the breaker that begins last."""
        for start in range(len(text) - 1, -1, -1):
            lengths = [
                len(breaker)
                for breaker in self.params["dry_sequence_breakers"]
                if text[start : start + len(breaker)] == list(breaker)
            ]
            if lengths:
                return len(text) - start - max(lengths)
        return len(text)

    def dry(self, left: Candidates, _: int) -> Candidates:
        p = self.params
        text = self.recent(p["dry_penalty_last_n"])
        allowed = p["dry_allowed_length"]
        limit = self.breaker_distance(text)
        if len(text) <= allowed or limit < allowed:
            return left
        longest: dict[int, int] = {}
        for end in range(1, len(text)):  # text[:end] ends here, text[end] followed
            length = 0
            while length < min(end, limit) and text[end - 1 - length] == text[-1 - length]:
                length += 1
            if length >= allowed:
                longest[text[end]] = max(longest.get(text[end], 0), length)
        exempt = {b[0] for b in p["dry_sequence_breakers"] if len(b) == 1}
        result = []
        for token, logit in left:
            if token in longest and token not in exempt:
                logit -= p["dry_multiplier"] * p["dry_base"] ** (longest[token] - allowed)
            result.append((token, logit))
        return self.resort(result)

    def top_n_sigma(self, left: Candidates, _: int) -> Candidates:
        n = self.params["top_n_sigma"]
        if n <= 0:
            return left
        finite = [x for _, x in left if x > -math.inf]
        mean = sum(finite) / len(finite)
        sigma = math.sqrt(sum((x - mean) ** 2 for x in finite) / len(finite))
        limit = max(finite) - n * sigma
        return [(token, x if x >= limit else -math.inf) for token, x in left]

    def top_k(self, left: Candidates, _: int) -> Candidates:
        k = self.params["top_k"]
        return left if k <= 0 or k >= len(left) else self.sort(left)[:k]

    def typ_p(self, left: Candidates, _: int) -> Candidates:
        if self.params["typical_p"] >= 1:
            return left
        left = self.sort(left)
        h, probabilities = entropy(left), softmax(left)
        distances = [abs(-math.log(p) - h) if p > 0 else math.inf for p in probabilities]
        order = sorted(range(len(left)), key=lambda i: distances[i])
        kept, total = [], 0.0
        for i in order:
            kept.append(left[i])
            total += probabilities[i]
            if total > self.params["typical_p"] and len(kept) >= self.params["min_keep"]:
                break
        return self.sort(kept)

    def top_p(self, left: Candidates, _: int) -> Candidates:
        if self.params["top_p"] >= 1:
            return left
        left = self.sort(left)
        total = 0.0
        for n, p in enumerate(softmax(left), start=1):
            total += p
            if total >= self.params["top_p"] and n >= self.params["min_keep"]:
                return left[:n]
        return left

    def min_p(self, left: Candidates, _: int) -> Candidates:
        if self.params["min_p"] <= 0:
            return left
        left = self.sort(left)
        limit = left[0][1] + math.log(self.params["min_p"])
        kept = [c for c in left if c[1] >= limit]
        return kept if len(kept) >= self.params["min_keep"] else left[: self.params["min_keep"]]

    def xtc(self, left: Candidates, step: int) -> Candidates:
        p = self.params
        if len(left) < 2 or uniform(self.seed, self.n_drawn, step) > p["xtc_probability"]:
            return left
        left = self.sort(left)
        n_top = sum(q >= p["xtc_threshold"] for q in softmax(left))
        if n_top >= 2 and len(left) - (n_top - 1) >= p["min_keep"]:
            return left[n_top - 1 :]
        return left

    def temperature(self, left: Candidates, _: int) -> Candidates:
        p = self.params
        t = p["temperature"]
        if t <= 0:
            return self.sort(left)[:1]
        if p["dynatemp_range"] > 0 and len(left) > 1:
            low, high = max(0.0, t - p["dynatemp_range"]), t + p["dynatemp_range"]
            share = min(1.0, max(0.0, entropy(left) / math.log(len(left))))
            t = low + (high - low) * share ** p["dynatemp_exponent"]
            if t <= 0:
                return self.sort(left)[:1]
        return [(token, x / t) for token, x in left]

    def draw(self, left: Candidates) -> int:
        """The first token at which the sum of probabilities exceeds a random number."""
        target = uniform(self.seed, self.n_drawn, 0)
        sums = accumulate(softmax(left))
        token = next(c[0] for c, total in zip(left, sums, strict=True) if total > target)
        self.history.append(token)
        self.n_drawn += 1
        return token
