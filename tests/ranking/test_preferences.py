"""What a tenant's own rules make of a pool's pages."""

from __future__ import annotations

from datetime import date, timedelta
from typing import get_args

import pytest

from collection_search.contracts.heuristic_rules import HeuristicRules, OwnWeights, PageLanguage
from collection_search.ranking.languages import LANGUAGE_NAMES
from collection_search.ranking.languages.guess import guess_language
from collection_search.ranking.preferences import (
    LANGUAGE_GUESSES,
    PagePreference,
    Preferences,
    judge_preferences,
    refusal_of,
)
from collection_search.ranking.scoring import PageText, rank

TODAY = date(2026, 6, 1)
ENGLISH = "This is how you cancel a task when it is running for too long."
GERMAN = "So wird eine Aufgabe abgebrochen, wenn sie zu lange läuft."


def page(host: str, text: str = "") -> PageText:
    return PageText("Tasks", text, f"https://{host}/page")


def judged(rules: HeuristicRules, one: PageText, published: date | None = None) -> PagePreference:
    (found,) = judge_preferences(rules, [one], [published], today=TODAY).pages
    return found


def points(found: PagePreference) -> dict[str, float]:
    return {each.name: each.points for each in found.adjustments}


@pytest.mark.parametrize(
    ("host", "is_meant"),
    [
        ("python.org", True),
        ("docs.python.org", True),
        ("DOCS.Python.ORG", True),
        ("docs.python.org:8443", True),
        ("notpython.org", False),
        ("python.org.attacker.example", False),
        ("evil-docs.python.org.attacker.example", False),
        ("org", False),
        ("", False),
    ],
)
def test_hosts_match_by_whole_labels(host: str, *, is_meant: bool) -> None:
    """The host and all below it, whether it is trusted or blocked; a look-alike is not."""
    trusted = judged(HeuristicRules(trusted_hosts=("*.python.org",)), page(host))
    blocked = judged(HeuristicRules(blocked_hosts=("python.org",)), page(host))
    assert points(trusted) == ({"trusted_host": 10.0} if is_meant else {})
    assert blocked.refused == ("the host python.org is blocked" if is_meant else "")


def test_international_hosts_are_compared_as_they_are_written_in_addresses() -> None:
    """As A-labels."""
    rules = HeuristicRules(blocked_hosts=("bücher.example",))
    assert judged(rules, page("www.xn--bcher-kva.example")).refused


def test_blocked_wins_over_trusted() -> None:
    """A page of both is refused and gains nothing."""
    rules = HeuristicRules(trusted_hosts=("a.example",), blocked_hosts=("sub.a.example",))
    assert judged(rules, page("sub.a.example")) == PagePreference(
        refused="the host sub.a.example is blocked"
    )
    assert points(judged(rules, page("a.example"))) == {"trusted_host": 10.0}


@pytest.mark.parametrize(
    ("age", "gained"), [(0, 5.0), (30, 5.0), (31, -5.0), (9999, -5.0), (-1, 5.0), (-2, None)]
)
def test_freshness(age: int, gained: float | None) -> None:
    """New pages gain, old ones lose; a day in the future counts nothing."""
    rules = HeuristicRules(freshness_days=30)
    found = points(judged(rules, page("a.example"), TODAY - timedelta(days=age)))
    assert found.get("freshness") == gained


def test_an_unknown_day_counts_nothing() -> None:
    """Most pages have none."""
    assert judged(HeuristicRules(freshness_days=30), page("a.example")) == PagePreference()


@pytest.mark.parametrize(
    ("text", "lost"), [(ENGLISH, 10.0), (GERMAN, None), ("asyncio timeout", None), ("", None)]
)
def test_language(text: str, lost: float | None) -> None:
    """A page that is clearly in another language loses points, an unclear one does not."""
    found = points(judged(HeuristicRules(language="de"), page("a.example", text)))
    assert found.get("language") == (lost and -lost)


def test_chinese_letters_may_be_japanese() -> None:
    """A short Japanese text has Chinese letters alone."""
    rules = HeuristicRules(language="ja")
    assert not judged(rules, PageText("富士山", "", "https://a.example/")).adjustments


def test_every_language_of_the_setting_can_be_told() -> None:
    """Each has its name in the guess."""
    assert set(LANGUAGE_GUESSES) == set(get_args(PageLanguage))
    latin = {name.capitalize() for name in LANGUAGE_NAMES.values()}
    letters = {
        "ar": "مهمة", "bn": "কলকাতার", "el": "εργασία", "he": "משימה", "hi": "कार्यक्रम", "hy": "խնդիր",
        "ja": "タスクの", "ka": "ამოცანა", "ko": "작업취소", "ru": "задача", "ta": "பணிகள்", "th": "งานนี้",
        "zh": "取消任务",
    }  # fmt: skip
    assert {guess_language(text) for text in letters.values()} | latin == set(
        LANGUAGE_GUESSES.values()
    )
    for code, text in letters.items():
        assert guess_language(text) == LANGUAGE_GUESSES[code]  # type: ignore[index]


def test_blocked_pages_come_last_whatever_the_limit() -> None:
    """Below pages that have nothing in common with the question."""
    pages = [page("bad.example", ENGLISH), PageText("Soup", "Cook.", "https://z.example/login")]
    rules = HeuristicRules(blocked_hosts=("bad.example",))
    given = judge_preferences(rules, pages, [None, None], today=TODAY)
    found = rank("cancel a task", pages, preferences=given)
    assert [each.index for each in found] == [1, 0]
    assert [each.index for each in rank("cancel a task", pages, preferences=given, limit=1)] == [1]
    assert refusal_of({"explanation": found[1].explanation}) == "the host bad.example is blocked"
    assert refusal_of({"explanation": found[0].explanation}) == ""
    assert refusal_of({}) == ""


def test_own_weights() -> None:
    """Title and coverage share the heuristic score, the address takes off what it may."""
    one = PageText("Tasks", "Cancel it.", "https://a.example/login")
    weights = OwnWeights(embedding_share=0.0, title=0, coverage=10, address=60)
    given = judge_preferences(HeuristicRules(weights=weights), [one], [None], today=TODAY)
    (found,) = rank("cancel a task", [one], preferences=given)
    assert found.embedding_rank_score == found.heuristic_score == 70.0
    told = found.explanation
    assert {each["name"]: each["points"] for each in told["addends"]} == {
        "similarity": 0.0, "coverage": 100.0, "url": -30.0
    }  # fmt: skip
    assert told["not_counted"] == ["title", "snippet"]


def test_the_usual_weights_change_nothing() -> None:
    """Written out or not."""
    pages = [page("a.example", ENGLISH), page("b.example", GERMAN)]
    rules = HeuristicRules(weights=OwnWeights())
    given = judge_preferences(rules, pages, [None, None], today=TODAY)
    usual, own = rank("cancel a task", pages), rank("cancel a task", pages, preferences=given)
    assert [each.explanation for each in own] == [each.explanation for each in usual]


def test_the_literal_profile_keeps_its_weights() -> None:
    """It is the specified arithmetic; hosts count there too."""
    pages = [page("a.example", ENGLISH)]
    rules = HeuristicRules(weights=OwnWeights(title=0), trusted_hosts=("a.example",))
    given = judge_preferences(rules, pages, [None], today=TODAY)
    (usual,) = rank("cancel a task", pages, profile="literal")
    (own,) = rank("cancel a task", pages, profile="literal", preferences=given)
    assert own.heuristic_score == usual.heuristic_score
    assert own.embedding_rank_score == pytest.approx(usual.embedding_rank_score + 10)


def test_one_preference_for_each_page() -> None:
    """Any other number is refused."""
    with pytest.raises(ValueError, match="0 preferences for 1 pages"):
        rank("task", [page("a.example")], preferences=Preferences(()))
