"""How to draw tokens: one frozen record of sampling parameters, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import cast

from bactrian.errors import InvalidArgumentError

#: The chain used unless ``samplers`` says otherwise, in order of application.
DEFAULT_SAMPLERS = (
    "penalties",
    "dry",
    "top_n_sigma",
    "top_k",
    "typ_p",
    "top_p",
    "min_p",
    "xtc",
    "temperature",
)

#: Every name a chain may contain, with its spellings and the letter of ``--sampler-seq``.
SAMPLER_NAMES: dict[str, tuple[str, ...]] = {
    "penalties": ("penalties", "e"),
    "dry": ("dry", "d"),
    "top_n_sigma": ("top_n_sigma", "top-n-sigma", "s"),
    "top_k": ("top_k", "top-k", "k"),
    "typ_p": ("typ_p", "typical_p", "typical-p", "typical", "typ", "y"),
    "top_p": ("top_p", "top-p", "nucleus", "p"),
    "min_p": ("min_p", "min-p", "m"),
    "xtc": ("xtc", "x"),
    "temperature": ("temperature", "temp", "t"),
    "adaptive_p": ("adaptive_p", "adaptive-p", "a"),
    "infill": ("infill", "i"),
}

_BY_SPELLING = {s: name for name, spellings in SAMPLER_NAMES.items() for s in spellings}

DEFAULT_DRY_BREAKERS = ("\n", ":", '"', "*")

#: Seeds are 32 bits wide; this value and -1 both ask for a random one.
RANDOM_SEED = 0xFFFFFFFF

_INF = math.inf

# name -> (lowest, highest) of each number; both ends allowed.
_RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0.0, _INF),
    "dynatemp_range": (0.0, _INF),
    "dynatemp_exponent": (0.0, _INF),
    "top_k": (0, 2**31 - 1),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "top_n_sigma": (-1.0, _INF),
    "xtc_probability": (0.0, 1.0),
    "xtc_threshold": (0.0, 1.0),
    "typical_p": (0.0, 1.0),
    "min_keep": (0, 2**31 - 1),
    "repeat_last_n": (0, 2**31 - 1),
    "repeat_penalty": (1e-6, _INF),
    "frequency_penalty": (-_INF, _INF),
    "presence_penalty": (-_INF, _INF),
    "dry_multiplier": (0.0, _INF),
    "dry_base": (1.0, _INF),
    "dry_allowed_length": (0, 2**31 - 1),
    "dry_penalty_last_n": (0, 2**31 - 1),
    "mirostat": (0, 2),
    "mirostat_tau": (0.0, _INF),
    "mirostat_eta": (0.0, _INF),
    "adaptive_target": (-1.0, 1.0),
    "adaptive_decay": (0.0, 0.99),
    "n": (1, 1024),
}

_INTEGERS = frozenset(
    {
        "top_k",
        "min_keep",
        "repeat_last_n",
        "dry_allowed_length",
        "dry_penalty_last_n",
        "mirostat",
        "n",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """Everything that shapes one generation. Names and defaults are those of llama-server.

    Raises InvalidArgumentError when a value is out of range or of the wrong type.

    Attributes:
        max_tokens: most tokens to generate; None: until an end token, a stop string or the
            end of the context. 0 only evaluates the prompt.
        stop: strings that end the text; the match itself is not part of the answer.
        ignore_eos: never draw an end token.
        show_special: keep the text of special tokens in the answer.
        n: answers for one prompt, which is evaluated once. Answer i uses ``seed + i``.
        logprobs: None, or how many of the likeliest tokens to report for each token drawn
            (0: only the drawn one), from the plain softmax before the sampler chain.
        logit_bias: added to the logit of a token id before anything else; ``-inf`` forbids it.
        seed: 0 to 2^32 - 2; -1 picks one at random, reported with the result.
        temperature: 0 takes the likeliest token.
        dynatemp_range: half width of the entropy-dependent temperature; 0 is off.
        dynatemp_exponent: how that temperature grows with entropy.
        top_k: keep this many tokens; 0 is off.
        top_p: keep the smallest set of tokens with this much probability; 1 is off.
        min_p: drop tokens below this share of the likeliest one's probability; 0 is off.
        top_n_sigma: drop logits more than this many standard deviations below the best.
        xtc_probability: how often to exclude the top choices; 0 is off.
        xtc_threshold: probability from which a token counts as a top choice.
        typical_p: keep tokens of typical information up to this probability; 1 is off.
        min_keep: filters leave at least this many tokens.
        repeat_last_n: how many of the last tokens the penalties look at; 0 is off.
        repeat_penalty: divides (or multiplies) the logit of repeated tokens; 1 is off.
        frequency_penalty: subtracted once for each occurrence.
        presence_penalty: subtracted once if the token occurs at all.
        dry_multiplier: strength of the penalty on continuing a repetition; 0 is off.
        dry_base: how the penalty grows with the length of the repetition.
        dry_allowed_length: longest repetition that costs nothing.
        dry_penalty_last_n: how many of the last tokens are searched.
        dry_sequence_breakers: strings that a repetition may not cross.
        mirostat: 0 is off, 1 and 2 replace the chain by that version of mirostat.
        mirostat_tau: target surprise in bits.
        mirostat_eta: learning rate.
        adaptive_target: draw tokens whose probability is about this; negative is off.
        adaptive_decay: memory of the average it is aimed with.
        samplers: the chain, by name, in order; a name left out is not applied. A target for
            ``adaptive_p`` puts it at the end of the chain by itself.

    """

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    show_special: bool = False
    n: int = 1
    logprobs: int | None = None
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    seed: int = -1
    temperature: float = 0.8
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    top_n_sigma: float = -1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    typical_p: float = 1.0
    min_keep: int = 0
    repeat_last_n: int = 64
    repeat_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = DEFAULT_DRY_BREAKERS
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    adaptive_target: float = -1.0
    adaptive_decay: float = 0.9
    samplers: tuple[str, ...] = DEFAULT_SAMPLERS

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            _check_number(name, getattr(self, name), low, high, name in _INTEGERS)
        for name in ("max_tokens", "logprobs"):
            value = getattr(self, name)
            if value is not None:
                _check_number(name, value, 0, 2**31 - 1, integer=True)
        _check_number("seed", self.seed, -1, RANDOM_SEED, integer=True)
        for name in ("ignore_eos", "show_special"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise InvalidArgumentError(f"{name} must be True or False, not {value!r}")
        # A frozen dataclass is filled through object.__setattr__.
        stop = tuple(s for s in _strings("stop", self.stop) if s)
        object.__setattr__(self, "stop", stop)
        breakers = _strings("dry_sequence_breakers", self.dry_sequence_breakers)
        object.__setattr__(self, "dry_sequence_breakers", breakers)
        object.__setattr__(self, "samplers", _sampler_chain(self.samplers))
        object.__setattr__(self, "logit_bias", _checked_bias(self.logit_bias))

    def with_changes(self, **changes: object) -> SamplingParams:
        """A copy with some values replaced. Raises InvalidArgumentError for an unknown name."""
        unknown = sorted(changes.keys() - set(self.__dataclass_fields__))
        if unknown:
            raise InvalidArgumentError(f"there is no sampling parameter named {unknown[0]!r}")
        return replace(self, **changes)  # type: ignore[arg-type]

    def native(
        self,
        *,
        eog_ids: Collection[int] = (),
        suppressed_ids: Collection[int] = (),
        dry_breakers: Iterable[Sequence[int]] = (),
        token_bytes: Sequence[bytes] = (),
    ) -> dict[str, object]:
        """The mapping that ``bactrian._core.Sampler`` takes: token ids in place of text.

        ``eog_ids``: the vocabulary's end tokens, forbidden under ``ignore_eos``.
        ``suppressed_ids``: tokens that the model file forbids always.
        ``dry_breakers``: ``dry_sequence_breakers`` as token sequences. ``token_bytes``: what each
        token stands for; only the ``infill`` sampler needs to know.
        """
        values = asdict(self)
        for name in ("max_tokens", "stop", "ignore_eos", "show_special", "n", "logprobs"):
            del values[name]
        bias = {**self.logit_bias, **dict.fromkeys(suppressed_ids, -_INF)}
        if self.ignore_eos:
            bias.update(dict.fromkeys(eog_ids, -_INF))
        values["logit_bias"] = bias
        values["seed"] = RANDOM_SEED if self.seed == -1 else self.seed
        chain = list(self.samplers)
        if self.adaptive_target >= 0 and "adaptive_p" not in chain:
            chain.append("adaptive_p")
        values["samplers"] = chain
        if "infill" in chain:
            values["token_bytes"] = list(token_bytes)
            values["end_tokens"] = list(eog_ids)
        values["dry_sequence_breakers"] = [list(b) for b in dry_breakers]
        return values


def _check_number(name: str, value: object, low: float, high: float, integer: bool) -> None:
    kinds = (int,) if integer else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        kind = "an integer" if integer else "a number"
        raise InvalidArgumentError(f"{name} must be {kind}, not {value!r}")
    number = cast(float, value)
    if math.isnan(number) or (math.isinf(number) and not integer):
        raise InvalidArgumentError(f"{name} must be finite, not {value!r}")
    if not low <= number <= high:
        if high in (_INF, 2**31 - 1):
            raise InvalidArgumentError(f"{name} must be at least {low:g}, not {value!r}")
        raise InvalidArgumentError(f"{name} must be between {low:g} and {high:g}, not {value!r}")


def _strings(name: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise InvalidArgumentError(f"{name} must be a string or a list of strings, not {value!r}")
    items = tuple(value)
    for item in items:
        if not isinstance(item, str):
            raise InvalidArgumentError(f"{name} must contain strings only, not {item!r}")
    return items


def _sampler_chain(value: object) -> tuple[str, ...]:
    names = _strings("samplers", value)
    chain = []
    for name in names:
        if name not in _BY_SPELLING:
            known = ", ".join(SAMPLER_NAMES)
            raise InvalidArgumentError(f"there is no sampler named {name!r}; known are: {known}")
        chain.append(_BY_SPELLING[name])
    return tuple(chain)


def _checked_bias(value: object) -> dict[int, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"logit_bias must map token ids to numbers, not {value!r}")
    bias: dict[int, float] = {}
    for token, amount in value.items():
        if isinstance(token, bool) or not isinstance(token, int) or token < 0:
            raise InvalidArgumentError(f"logit_bias: {token!r} is not a token id")
        if isinstance(amount, bool) or not isinstance(amount, (int, float)):
            raise InvalidArgumentError(f"logit_bias of token {token}: {amount!r} is not a number")
        if math.isnan(amount) or amount == _INF:
            raise InvalidArgumentError(f"logit_bias of token {token} must not be {amount!r}")
        bias[token] = float(amount)
    return bias
