"""Decisions from the words of a command line, and from files."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.cli.shared.review_decision import (
    build_decision,
    parse_choice,
    visible_numbers,
)
from collection_search.contracts.review import ReviewDecision
from collection_search.errors import InputError

if TYPE_CHECKING:
    from collection_search.contracts.review import ReviewCandidate

COUNT = 40


def candidate(number: int, *, is_pdf: bool = False) -> ReviewCandidate:
    return {
        "url": f"https://a.example/{number}",
        "title": "",
        "snippet": "",
        "source": "a.example",
        "is_pdf": is_pdf,
        "in_collection": False,
        "embedding_rank_score": 50.0,
        "embedding_similarity": 0.5,
        "heuristic_score": 50.0,
        "explanation": {},
    }


def as_ranges(numbers: list[int]) -> str:
    """Write numbers as a person would: 1,3-5."""
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


@given(st.sets(st.integers(1, COUNT), min_size=1))
def test_ranges_give_the_numbers_that_they_were_made_of(chosen: set[int]) -> None:
    """Every set of numbers can be written and is read back."""
    text = as_ranges(sorted(chosen))
    assert parse_choice(text, count=COUNT, visible=range(1, COUNT + 1)) == sorted(chosen)


def test_a_range_in_the_wrong_order_is_told_in_the_right_one() -> None:
    with pytest.raises(InputError, match="write 1-3"):
        parse_choice("3-1", count=COUNT, visible=range(1, COUNT + 1))


@given(st.text(), st.integers(0, COUNT))
def test_any_text_gives_existing_numbers_or_an_input_error(text: str, count: int) -> None:
    """Nothing else is raised, and no number outside the list is returned."""
    try:
        numbers = parse_choice(text, count=count, visible=range(1, count + 1))
    except InputError:
        return
    assert set(numbers) <= set(range(1, count + 1))


@given(
    st.lists(st.booleans(), max_size=COUNT),
    st.data(),
    st.lists(st.just("https://b.example/x"), max_size=1),
)
def test_a_built_decision_is_valid_and_approves_what_was_chosen(
    kinds: list[bool], data: st.DataObject, added: list[str]
) -> None:
    """Whatever is chosen, the status agrees with it."""
    shown = [candidate(n, is_pdf=kind) for n, kind in enumerate(kinds)]
    visible = visible_numbers(shown, pdf=data.draw(st.sampled_from([None, True, False])))
    chosen = data.draw(st.sets(st.sampled_from(visible))) if visible else set()
    decision = build_decision(shown, sorted(chosen), added=added, approver="ann")
    valid = ReviewDecision.model_validate(decision)
    assert valid.approved_urls == [shown[n - 1]["url"] for n in sorted(chosen)]
    assert (valid.status == "rejected") == (not chosen and not added)
    assert (valid.status == "approved") == (bool(kinds) and len(chosen) == len(kinds))


@pytest.mark.parametrize("text", ["", ",", "0", "3-1", "41", "1;2", "-1", "\uff11"])
def test_what_is_no_choice_is_refused(text: str) -> None:
    """An empty list is no choice: `none` is."""
    with pytest.raises(InputError):
        parse_choice(text, count=COUNT, visible=range(1, COUNT + 1))


@pytest.mark.parametrize("text", ["1,,2", "1,", ",1", "1, ,2", "all,1", "none,none", "1,all"])
def test_a_sloppy_choice_is_refused(text: str) -> None:
    """A part that is empty may be a number forgotten; `all` and `none` stand alone."""
    with pytest.raises(InputError, match=r"is missing|stands alone"):
        parse_choice(text, count=COUNT, visible=range(1, COUNT + 1))


@given(st.sets(st.integers(1, COUNT), min_size=1), st.sets(st.integers(1, COUNT)))
def test_only_what_is_shown_can_be_chosen(chosen: set[int], visible: set[int]) -> None:
    """A hidden number is refused, never left out silently."""
    text = as_ranges(sorted(chosen))
    if chosen <= visible:
        assert parse_choice(text, count=COUNT, visible=sorted(visible)) == sorted(chosen)
        return
    with pytest.raises(InputError, match="Not shown because of"):
        parse_choice(text, count=COUNT, visible=sorted(visible))


def test_all_of_nothing_is_refused() -> None:
    """It would reject the review, which nobody has asked for."""
    with pytest.raises(InputError, match="No candidate is shown"):
        parse_choice("all", count=COUNT, visible=[])
