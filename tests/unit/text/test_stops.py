"""Stop strings end the text at the first match, wherever tokens begin and end."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bactrian.errors import InvalidArgumentError
from bactrian.text.stops import StopChecker


def run(stops, chunks):
    checker = StopChecker(stops)
    shown = ""
    for chunk in chunks:
        text, stopped = checker.push(chunk)
        shown += text
        if stopped:
            return shown, checker.matched
    return shown + checker.flush(), checker.matched


TEXT = "red green blue"


@pytest.mark.parametrize(
    ("stops", "shown", "matched"),
    [
        (["green"], "red ", "green"),
        (["n b"], "red gree", "n b"),
        (["blue\nXX"], TEXT, None),
        (["\n"], TEXT, None),
        (["red"], "", "red"),
        (["", "green"], "red ", "green"),
        ("green", "red ", "green"),
        (None, TEXT, None),
        ([], TEXT, None),
        ([""], TEXT, None),
        (["blue", "green"], "red ", "green"),
        (["green blue", "een"], "red ", "green blue"),
        (["green blues", "een"], "red gr", "een"),
        ([f"s{n}" for n in range(100)], TEXT, None),
    ],
)
def test_chunks_of_any_size(stops, shown, matched):
    for size in range(1, len(TEXT) + 1):
        chunks = [TEXT[i : i + size] for i in range(0, len(TEXT), size)]
        assert run(stops, chunks) == (shown, matched), size


@pytest.mark.parametrize("chunks", [["xABC"], ["x", "A", "B", "C"], ["xAB", "C"]])
def test_stops_that_share_a_beginning(chunks):
    shown, matched = run(["A", "AB", "ABC"], chunks)
    assert shown == "x"
    assert matched in ("A", "AB", "ABC")


def test_emoji():
    assert run(["🦙"], ["a", "🦙", "b"]) == ("a", "🦙")


def test_only_what_may_begin_a_stop_is_held_back():
    checker = StopChecker(["END"])
    assert checker.push("aE") == ("a", False)
    assert checker.push("N") == ("", False)
    assert checker.push("x") == ("ENx", False)
    assert checker.push("EN") == ("", False)
    assert checker.flush() == "EN"
    assert checker.matched is None


def test_nothing_is_shown_after_a_match():
    checker = StopChecker("x")
    assert checker.push("axb") == ("a", True)
    assert checker.push("c") == ("", True)
    assert checker.flush() == ""


@pytest.mark.parametrize("stops", [[1], 5, [None], [b"x"]])
def test_wrong_types(stops):
    with pytest.raises(InvalidArgumentError):
        StopChecker(stops)


@given(
    text=st.text("ab", max_size=30),
    stops=st.lists(st.text("ab", min_size=1, max_size=4), max_size=4),
    cuts=st.sets(st.integers(1, 29)),
)
def test_same_as_searching_the_whole_text(text, stops, cuts):
    borders = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    chunks = [text[a:b] for a, b in pairwise(borders)]
    starts = [text.find(stop) for stop in stops if stop in text]
    shown, matched = run(stops, chunks)
    assert shown == text[: min(starts, default=len(text))]
    assert (matched is not None) == bool(starts)
