"""The vocabulary of a model, read from GGUF ``tokenizer.ggml.*`` keys and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from bactrian.errors import FileFormatError
from bactrian.text import _keys
from bactrian.text._keys import Metadata

_PREFIX = "tokenizer.ggml."


class TokenType(IntEnum):
    """What a token is for, numbered as in GGUF files."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


#: Texts that end a generation in whatever vocabulary they occur.
_END_TEXTS = (
    *("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "</s>"),
    *("<|eom_id|>", "<EOT>", "_<EOT>", "<｜end▁of▁sentence｜>", "<|end_of_text|>"),
    *("<|return|>", "<|call|>", "<end_of_utterance>"),
)
_EOT_TEXTS = ("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<EOT>")
_EOM_TEXTS = ("<|eom_id|>",)

#: Fill-in-the-middle role -> (keys, texts by which the token is found without a key).
_FIM: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "prefix": (
        ("fim_pre_token_id", "prefix_token_id"),
        ("<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>"),
    ),
    "suffix": (
        ("fim_suf_token_id", "suffix_token_id"),
        ("<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>"),
    ),
    "middle": (
        ("fim_mid_token_id", "middle_token_id"),
        ("<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>"),
    ),
    "pad": (("fim_pad_token_id",), ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>")),
    "repo": (
        ("fim_rep_token_id",),
        ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>", "<repo_name>"),
    ),
    "separator": (("fim_sep_token_id",), ("<|file_sep|>", "<file_sep>")),
}

_FIM_TEXTS = tuple(text for _, texts in _FIM.values() for text in texts)

#: Special ids where the file names none: those of the tokenizer's first published model.
_DEFAULT_IDS: dict[str, dict[str, int]] = {
    "llama": {"bos": 1, "eos": 2, "unk": 0},
    "gpt2": {},
    "bert": {"unk": 100, "sep": 102, "pad": 0, "cls": 101, "mask": 103},
    "t5": {"eos": 1, "unk": 2, "pad": 0},
}
_ID_KEYS = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "eot": "eot_token_id",
    "eom": "eom_token_id",
    "unk": "unknown_token_id",
    "sep": "seperator_token_id",  # spelled so in the format
    "pad": "padding_token_id",
    "cls": "cls_token_id",
    "mask": "mask_token_id",
}

#: Pre-tokenizers whose models expect BOS although older files lack ``add_bos_token``.
_ADD_BOS_PRE = frozenset(
    {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "lfm2", "tekken"}
    | {"jina-v5-nano"}
)
#: Pre-tokenizers whose models close the input with SEP although older files don't say so.
_ADD_SEP_PRE = frozenset({"roberta-bpe", "jina-v1-en", "jina-v2-code"})


@dataclass(frozen=True)
class Vocab:
    """Tokens, their types and scores, and the ids with a meaning of their own.

    ``token_types`` is int32 [n], ``scores`` float32 [n] or None. A duplicated text belongs to its
    first id in ``id_of``.
    """

    model: str
    pre: str | None
    tokens: Sequence[str] = field(repr=False)
    token_types: NDArray[np.int32] = field(repr=False)
    scores: NDArray[np.float32] | None = field(repr=False)
    id_of: dict[str, int] = field(repr=False)
    bos_id: int | None
    eos_id: int | None
    eot_id: int | None
    eom_id: int | None
    unk_id: int | None
    sep_id: int | None
    pad_id: int | None
    cls_id: int | None
    mask_id: int | None
    fim_ids: dict[str, int]
    add_bos: bool
    add_eos: bool
    add_sep: bool
    eog_ids: frozenset[int]
    suppress_ids: frozenset[int]

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def from_metadata(cls, metadata: Metadata, *, pre: str | None = None) -> Vocab:
        """Reads and checks the vocabulary; ``pre`` overrides ``tokenizer.ggml.pre``.

        Raises FileFormatError naming the key that is missing, of the wrong kind or out of range.
        """
        model = _keys.get_str(metadata, _PREFIX + "model")
        if model is None:
            raise FileFormatError(f"{_PREFIX}model is missing: the file has no tokenizer")
        pre = _keys.get_str(metadata, _PREFIX + "pre") if pre is None else pre
        tokens = _keys.get_strings(metadata, _PREFIX + "tokens")
        if tokens is None and model in ("none", "no_vocab"):
            tokens = []
        if tokens is None:
            raise FileFormatError(f"{_PREFIX}tokens is missing: a {model!r} tokenizer needs it")
        token_types = _token_types(metadata, len(tokens))
        # Walking backwards leaves the first of any duplicates in place.
        id_of = {tokens[i]: i for i in range(len(tokens) - 1, -1, -1)}
        ids = _special_ids(metadata, model, len(tokens), id_of)
        fim_ids = _fim_ids(metadata, len(tokens), id_of)
        # These texts steer a model whatever their type says; some converters get it wrong.
        steering = [id_of[text] for text in (*_END_TEXTS, *_FIM_TEXTS) if text in id_of]
        token_types[steering] = TokenType.CONTROL
        add_bos, add_eos, add_sep = _additions(metadata, model, pre)
        return cls(
            model=model,
            pre=pre,
            tokens=tokens,
            token_types=token_types,
            scores=_scores(metadata, len(tokens)),
            id_of=id_of,
            **{f"{name}_id": ids.get(name) for name in _ID_KEYS},
            fim_ids=fim_ids,
            add_bos=add_bos,
            add_eos=add_eos,
            add_sep=add_sep,
            eog_ids=_eog_ids(ids, fim_ids, id_of),
            suppress_ids=_suppress_ids(metadata, len(tokens)),
        )

    def ids_of_types(self, *types: TokenType) -> list[int]:
        """Ids of all tokens of the given types, rising."""
        found: list[int] = np.flatnonzero(np.isin(self.token_types, types)).tolist()
        return found

    def control_texts(self) -> list[str]:
        """Texts of control and unknown tokens: what untrusted text must never turn into."""
        ids = self.ids_of_types(TokenType.CONTROL, TokenType.UNKNOWN)
        return [self.tokens[i] for i in ids if self.tokens[i]]


def _token_types(metadata: Metadata, n_tokens: int) -> NDArray[np.int32]:
    key = _PREFIX + "token_type"
    values = _keys.get_numbers(metadata, key, "iu")
    if values is None:
        return np.full(n_tokens, TokenType.NORMAL, np.int32)
    _check_length(key, len(values), n_tokens)
    # Type 0 ("undefined") occurs in the wild and means a plain token.
    if n_tokens and not 0 <= values.min() <= values.max() <= TokenType.BYTE:
        raise FileFormatError(f"{key} holds a type outside 0..6")
    return np.where(values == 0, int(TokenType.NORMAL), values).astype(np.int32)


def _scores(metadata: Metadata, n_tokens: int) -> NDArray[np.float32] | None:
    key = _PREFIX + "scores"
    values = _keys.get_numbers(metadata, key, "iuf")
    if values is None:
        return None
    _check_length(key, len(values), n_tokens)
    scores = values.astype(np.float32)
    if not np.isfinite(scores).all():
        raise FileFormatError(f"{key} holds a score that is not finite")
    return scores


def _check_length(key: str, length: int, n_tokens: int) -> None:
    if length != n_tokens:
        raise FileFormatError(f"{key} has {length} entries, but there are {n_tokens} tokens")


def _special_ids(
    metadata: Metadata, model: str, n_tokens: int, id_of: dict[str, int]
) -> dict[str, int]:
    ids = {}
    defaults = _DEFAULT_IDS.get(model, {})
    for name, suffix in _ID_KEYS.items():
        if _PREFIX + suffix in metadata:
            value = _keys.get_token_id(metadata, _PREFIX + suffix, n_tokens)
        else:
            value = defaults.get(name)
            value = value if value is not None and value < n_tokens else None
        if value is not None:
            ids[name] = value
    for name, texts in (("eot", _EOT_TEXTS), ("eom", _EOM_TEXTS)):
        found = next((id_of[t] for t in texts if t in id_of), None)
        if name not in ids and found is not None:
            ids[name] = found
    if model == "bert":  # BERT's first token goes by either name.
        first = ids.get("cls", ids.get("bos"))
        if first is not None:
            ids.update(cls=first, bos=first)
    return ids


def _fim_ids(metadata: Metadata, n_tokens: int, id_of: dict[str, int]) -> dict[str, int]:
    ids = {}
    for role, (suffixes, texts) in _FIM.items():
        keyed = (_keys.get_token_id(metadata, _PREFIX + s, n_tokens) for s in suffixes)
        candidates = [*keyed, *(id_of.get(text) for text in texts)]
        found = next((c for c in candidates if c is not None), None)
        if found is not None:
            ids[role] = found
    return ids


def _additions(metadata: Metadata, model: str, pre: str | None) -> tuple[bool, bool, bool]:
    defaults = {
        "add_bos_token": model in ("llama", "bert") or (model == "gpt2" and pre in _ADD_BOS_PRE),
        "add_eos_token": model == "t5",
        "add_sep_token": model == "bert" or (model == "gpt2" and pre in _ADD_SEP_PRE),
    }
    if model == "gpt2" and pre in _ADD_SEP_PRE:
        defaults["add_bos_token"] = True
    values = []
    for suffix, default in defaults.items():
        value = _keys.get_bool(metadata, _PREFIX + suffix)
        values.append(default if value is None else value)
    return values[0], values[1], values[2]


def _eog_ids(ids: dict[str, int], fim_ids: dict[str, int], id_of: dict[str, int]) -> frozenset[int]:
    found = {ids[name] for name in ("eos", "eot", "eom") if name in ids}
    found |= {id_of[text] for text in _END_TEXTS if text in id_of}
    found |= {fim_ids[role] for role in ("pad", "repo", "separator") if role in fim_ids}
    if "<|return|>" in id_of and "<|call|>" in id_of and "<|end|>" in id_of:
        # In the gpt-oss format <|end|> only closes one message of a longer answer.
        found.discard(id_of["<|end|>"])
    return frozenset(found)


def _suppress_ids(metadata: Metadata, n_tokens: int) -> frozenset[int]:
    key = _PREFIX + "suppress_tokens"
    values = _keys.get_numbers(metadata, key, "iu")
    if values is None:
        return frozenset()
    if len(values) and not 0 <= values.min() <= values.max() < n_tokens:
        raise FileFormatError(f"{key} holds an id outside the vocabulary of {n_tokens} tokens")
    return frozenset(int(v) for v in values)
