"""What of an answer is shown when: whole characters, nothing of a stop string."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bactrian import SamplingParams
from bactrian.engine.text_stream import TextStream


def pieces(model, tokens, **params):
    """Pieces shown, the text held back to the end, and the stop string found."""
    stream = TextStream(model.tokenizer, SamplingParams(**params))
    shown = []
    for token in tokens:
        shown.append(stream.push(token))
        if stream.stop_string is not None:
            break
    return shown, stream.finish(), stream.stop_string


def tokens_of(model, text):
    return model.tokenizer.encode(text)


@pytest.mark.parametrize(
    ("stop", "expected", "found"),
    [
        (["green"], "red ", "green"),
        (["n b"], "red gree", "n b"),
        (["blue\nXX"], "red green blue", None),
        (["\n"], "red green blue", None),
        (["red"], "", "red"),
        (["", "green"], "red ", "green"),
        ("green", "red ", "green"),
        (None, "red green blue", None),
        (["g", "gr", "gre"], "red ", "gre"),
        (["blue", "green"], "red ", "green"),
        ([f"x{i}" for i in range(100)], "red green blue", None),
    ],
)
def test_text_ends_before_the_first_stop_string(bpe, stop, expected, found):
    shown, rest, stop_string = pieces(bpe, tokens_of(bpe, "red green blue"), stop=stop)
    assert ("".join(shown) + rest, stop_string) == (expected, found)


@pytest.mark.parametrize("kind", ["bpe", "spm"])
def test_characters_come_whole_or_not_at_all(kind, request):
    model = request.getfixturevalue(kind)
    tokens = tokens_of(model, "🐪é")
    assert len(tokens) >= 6
    for n in range(len(tokens) + 1):
        shown, rest, _ = pieces(model, tokens[:n])
        assert "\ufffd" not in "".join(shown)
        assert len(rest) <= 1


@settings(max_examples=60, deadline=None)
@given(tokens=st.lists(st.integers(0, 511), max_size=30), kind=st.sampled_from(["bpe", "spm"]))
def test_any_tokens_give_the_text_they_decode_to(tokens, kind, request):
    tokenizer = request.getfixturevalue(kind).tokenizer
    shown, rest, _ = pieces(request.getfixturevalue(kind), tokens)
    text = "".join(shown) + rest
    assert text == tokenizer.decode(tokens, skip_special=True, at_start=False)
    text.encode("utf-8")


@settings(max_examples=60, deadline=None)
@given(
    text=st.text("abc é", max_size=20),
    stops=st.lists(st.text("abc é", min_size=1, max_size=4), max_size=4),
)
def test_shown_text_never_has_to_be_taken_back(bpe, text, stops):
    shown, rest, found = pieces(bpe, tokens_of(bpe, text) if text else [], stop=stops)
    whole = "".join(shown) + rest
    places = [text.find(stop) for stop in stops if stop in text]
    assert whole == (text[: min(places)] if places else text)
    assert (found is not None) == bool(places)
