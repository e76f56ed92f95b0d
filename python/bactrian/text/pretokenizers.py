"""How byte-level BPE vocabularies split text into words before merging.

One literal table: pre-tokenizer name (``tokenizer.ggml.pre``) -> regular expressions, applied one
after the other; each splits the pieces left by the one before. The expressions are those the
models were published with, in the dialect of Oniguruma.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from bactrian.errors import UnsupportedError

_log = logging.getLogger(__name__)

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LINES_AND_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _llama3(digits: str) -> str:
    return (
        rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_LINES_AND_SPACE}"
    )


def _case_aware(suffix: str, digits: str) -> str:
    return (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{suffix}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{suffix}"
        rf"|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_LINES_AND_SPACE}"
    )


_LLAMA3 = (_llama3(r"\p{N}{1,3}"),)
_QWEN2 = (_llama3(r"\p{N}"),)
_QWEN35 = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_LINES_AND_SPACE}",
)
_GPT4O = (_case_aware(f"{_CONTRACTIONS}?", r"\p{N}{1,3}"),)
_TEKKEN = (_case_aware("", r"\p{N}"),)
_STARCODER = (r"\p{N}", _GPT2)
_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}")
_DEEPSEEK_LLM = (
    r"[\r\n]",
    # Escaped are characters that Unicode normalisation would replace.
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅ"
    "Ὀ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿ"
    "ⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    r"\s+$",
    r"[一-龥ࠀ-一가-퟿]+",
    r"\p{N}+",
)
_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_LINES_AND_SPACE}",
)
_FALCON = (r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, r"[0-9][0-9][0-9]")
_DEFAULT = (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", r"[0-9][0-9][0-9]")
_BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
_BAILING = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
)
_KIMI_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_KIMI_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_KIMI_K2 = (
    rf"\p{{Han}}+|[^\r\n\p{{L}}\p{{N}}]?{_KIMI_UPPER}*{_KIMI_LOWER}+{_CONTRACTIONS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_KIMI_UPPER}+{_KIMI_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_LINES_AND_SPACE}",
)
_SEED_CODER = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_LINES_AND_SPACE}",
)


@dataclass(frozen=True)
class PreTokenizer:
    """Splitting rule of a vocabulary.

    ``ignore_merges``: a word that is a token as a whole is taken before any merging.
    """

    patterns: tuple[str, ...]
    ignore_merges: bool = False


#: Names that share a rule, rule by rule.
_FAMILIES: tuple[tuple[PreTokenizer, tuple[str, ...]], ...] = (
    (PreTokenizer(_DEFAULT), ("default",)),
    (
        PreTokenizer((_GPT2,)),
        (
            *("gpt-2", "phi-2", "mpt", "olmo", "jais", "modern-bert", "roberta-bpe", "jina-es"),
            *("jina-de", "jina-v1-en", "jina-v2-code", "jina-v2-es", "jina-v2-de", "gigachat"),
            *("exaone4", "mellum", "trillion", "granite-docling", "a.x-4.0"),
        ),
    ),
    (
        PreTokenizer(_STARCODER),
        (
            *("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"),
            "mellum2",
        ),
    ),
    (
        PreTokenizer(_LLAMA3, ignore_merges=True),
        (
            *("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "lfm2"),
            *("jina-v5-nano", "chatglm-bpe", "glm4"),
        ),
    ),
    (PreTokenizer(_LLAMA3), ("dbrx", "smaug-bpe")),
    (
        PreTokenizer(_QWEN2),
        (
            *("qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "solar-open"),
            "grok-2",
        ),
    ),
    (PreTokenizer(_QWEN35), ("qwen35",)),
    (PreTokenizer(_GPT4O), ("gpt-4o", "llama4", "kanana2", "minimax-m2", "talkie")),
    (PreTokenizer(_TEKKEN, ignore_merges=True), ("tekken",)),
    (PreTokenizer(_DEEPSEEK_LLM), ("deepseek-llm",)),
    (PreTokenizer(_DEEPSEEK_CODER), ("deepseek-coder",)),
    (PreTokenizer(_DEEPSEEK_V3), ("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4")),
    (PreTokenizer(_FALCON), ("falcon",)),
    (PreTokenizer((_BLOOM,)), ("bloom", "poro-chat", "gpt3-finnish")),
    (PreTokenizer((_BLOOM, r"\p{N}")), ("viking",)),
    (PreTokenizer(_BAILING), ("bailingmoe", "bailingmoe2", "llada-moe")),
    (PreTokenizer(_SEED_CODER), ("seed-coder",)),
    (PreTokenizer(_KIMI_K2), ("kimi-k2",)),
)

PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    name: rule for rule, names in _FAMILIES for name in names
}


def pre_tokenizer(name: str | None) -> PreTokenizer:
    """The rule named by a file, or the default one with a warning if the file names none.

    Raises UnsupportedError for an unknown name: a wrong rule would give wrong ids in silence.
    """
    if name is None:
        _log.warning(
            "the file names no pre-tokenizer (tokenizer.ggml.pre): using 'default', "
            "which may lower the quality of the output; --pre NAME overrides it"
        )
        name = "default"
    if name not in PRE_TOKENIZERS:
        known = ", ".join(sorted(PRE_TOKENIZERS))
        raise UnsupportedError(
            f"the pre-tokenizer {name!r} (tokenizer.ggml.pre) is not known; override it with "
            f"pre=NAME or --pre NAME, where NAME is one of: {known}"
        )
    return PRE_TOKENIZERS[name]
