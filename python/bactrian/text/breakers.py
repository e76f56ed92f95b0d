"""Strings that a repetition may not cross, as the token sequences in which they can occur.

A breaker seldom is a token of its own: it may lie inside a longer token, or begin at the end of one
and go on in the next ones. The DRY sampler works on token ids, so all these forms are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bactrian.text.tokenizer import Tokenizer

#: Longer breakers are cut, as are the tails of those that spread over several tokens.
MAX_CHARACTERS = 40
MAX_TAIL_TOKENS = 20


def breaker_sequences(
    tokenizer: Tokenizer, token_bytes: Sequence[bytes], breakers: Iterable[str]
) -> list[list[int]]:
    """Every way in which one of ``breakers`` can occur in a sequence of tokens.

    One id: tokens that contain the breaker. Several: a token that ends with the beginning of the
    breaker, then the tokens of its rest. ``token_bytes``: what each token stands for.
    """
    found: list[list[int]] = []
    for breaker in breakers:
        found += _sequences(tokenizer, token_bytes, breaker[:MAX_CHARACTERS])
    return found


def _sequences(tokenizer: Tokenizer, texts: Sequence[bytes], breaker: str) -> list[list[int]]:
    wanted = breaker.encode()
    if not wanted:
        return []
    singles = [[token] for token, text in enumerate(texts) if wanted in text]
    split = []
    for n_head in range(1, len(breaker)):
        head = breaker[:n_head].encode()
        heads = [t for t, text in enumerate(texts) if text.endswith(head) and wanted not in text]
        if heads:
            tail = tokenizer.encode(breaker[n_head:], parse_special=False)[:MAX_TAIL_TOKENS]
            split += [[token, *tail] for token in heads]
    return singles + split
