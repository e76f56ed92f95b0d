"""Strings that a repetition may not cross, as tokens."""

from bactrian.text.breakers import breaker_sequences


class Letters:
    """A tokenizer with one token per entry; text is encoded letter by letter."""

    def __init__(self, *tokens):
        self.tokens = [t.encode() for t in tokens]

    def encode(self, text, *, parse_special):
        assert not parse_special
        return [self.tokens.index(c.encode()) for c in text]


def sequences(tokens, *breakers):
    tokenizer = Letters(*tokens)
    return breaker_sequences(tokenizer, tokenizer.tokens, breakers)


def test_every_token_that_contains_the_breaker_counts():
    assert sequences(["a", ":", "x:y", "b"], ":") == [[1], [2]]


def test_a_breaker_may_begin_at_the_end_of_a_token():
    # "ab" as one token, as a|b, and with the a at the end of xa.
    assert sequences(["a", "b", "ab", "xa", "ax"], "ab") == [[2], [0, 1], [3, 1]]


def test_several_breakers_and_characters_of_several_bytes():
    assert sequences(["é", "x", "é!"], "é", "x", "") == [[0], [2], [1]]


def test_long_breakers_are_cut():
    tokens = ["a", "b"]
    (found,) = sequences(tokens, "ab" + "a" * 100)
    assert found == [0, 1, *[0] * 19]
