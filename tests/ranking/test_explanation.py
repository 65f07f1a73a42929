"""What a score is the sum of, and its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from collection_search.ranking.bands import BAND_EDGES, RELEVANT_SHARES, describe_band
from collection_search.ranking.preferences import Adjustment, PagePreference, Preferences
from collection_search.ranking.scoring import DENSE, LEXICAL, PageText, rank

if TYPE_CHECKING:
    from collection_search.ranking.scoring import Profile, Scored

QUESTION = "How do I cancel an asyncio task?"
PAGE = PageText("Tasks", "How to cancel a running task. " * 3, "https://a.example/task")
LOGIN = PAGE._replace(url="https://a.example/login")
UNTITLED = PAGE._replace(title="")


def one(
    page: PageText = PAGE,
    *,
    cosine: float | None = None,
    profile: Profile = "default",
    preference: PagePreference | None = None,
    **options: Any,
) -> Scored:
    """The page's score, alone in its pool."""
    given = None if preference is None else Preferences([preference])
    (found,) = rank(
        QUESTION,
        [page],
        similarities=None if cosine is None else [cosine],
        profile=profile,
        preferences=given,
        **options,
    )
    return found


def addends(found: Scored) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in found.explanation["addends"]}


def test_what_counts_by_words() -> None:
    """The wording is an input, the snippet's points are shown and said not to count."""
    told = one().explanation
    assert [each["name"] for each in told["addends"]] == ["similarity", "title", "coverage", "url"]
    assert [each["name"] for each in told["addends"][0]["inputs"]] == ["wording", "constant"]
    assert (told["snippet"], told["not_counted"]) == (25, ["snippet"])
    assert (told["matched"], told["missing"]) == (["cancel", "task"], ["asyncio"])


def test_what_counts_with_a_model() -> None:
    """The model's similarity on its own scale, and the wording."""
    inputs = {
        each["name"]: each for each in addends(one(cosine=DENSE.related))["similarity"]["inputs"]
    }
    assert (inputs["model"]["value"], inputs["model"]["weight"]) == (1.0, DENSE.similarity)
    assert inputs["wording"]["weight"] == DENSE.wording
    assert inputs["constant"] == {"name": "constant", "value": 1.0, "weight": DENSE.constant}


def test_what_counts_literally() -> None:
    """Cosine times 100, and all four parts."""
    found = one(LOGIN, cosine=0.5, profile="literal")
    parts = addends(found)
    assert [*parts] == ["similarity", "title", "snippet", "coverage", "url"]
    assert parts["similarity"]["points"] == 30.0
    assert parts["snippet"] == {"name": "snippet", "value": 25, "weight": 0.4, "points": 10.0}
    assert (parts["url"]["value"], parts["url"]["points"]) == (-10, -4.0)
    assert found.explanation["not_counted"] == []


def test_a_page_without_a_title_has_no_points_for_it() -> None:
    """The text in its place has them."""
    found = one(UNTITLED)
    assert found.explanation["title"] == 0
    assert "title" not in addends(found)
    assert addends(found)["text_in_place_of_title"]["points"] > 0
    assert "no title" in found.explanation["sentence"]


def test_an_address_costs_no_more_than_was_earned() -> None:
    """What does not count is no addend; the part itself is shown in full."""
    found = one(PageText("Soup", "Cook it.", "https://a.example/login"))
    assert found.explanation["url"] == -10
    assert addends(found)["url"]["points"] == 0
    assert "address" not in found.explanation["sentence"]


def test_a_score_below_0_is_limited() -> None:
    """A negative cosine takes points away, the limit gives them back."""
    found = one(cosine=-1.0, profile="literal")
    assert found.embedding_rank_score == 0
    assert addends(found)["limit"]["points"] > 0


def test_a_failed_embedding_has_no_inputs() -> None:
    """The similarity counts 0, and that is said."""
    found = one(cosine=float("nan"))
    assert addends(found)["similarity"] == {
        "name": "similarity", "value": 0.0, "weight": 0.6, "points": 0.0, "inputs": []
    }  # fmt: skip
    assert "could not be embedded" in found.explanation["sentence"]
    assert "relevant" not in found.explanation["meaning"]


def test_points_of_a_tenants_rules_are_addends() -> None:
    """Each by its name, with its reason in the sentence."""
    given = PagePreference(
        (
            Adjustment("trusted_host", 10.0, "the host a.example is trusted"),
            Adjustment("freshness", -1.0, "it was published before the last 30 days"),
        )
    )
    found, usual = one(preference=given), one()
    assert found.embedding_rank_score == pytest.approx(usual.embedding_rank_score + 9, abs=0.01)
    assert addends(found)["trusted_host"]["points"] == pytest.approx(10, abs=0.01)
    assert found.explanation["sentence"].endswith(
        "; the host a.example is trusted, which gives 10 points; it was published before the last"
        " 30 days, which costs 1 point."
    )
    assert "no share of relevant pages was measured" in found.explanation["meaning"]


def test_a_blocked_page_says_what_it_would_have_had() -> None:
    """Its own points are listed, and all are taken away."""
    found, usual = one(preference=PagePreference(refused="the host a.example is blocked")), one()
    assert found.embedding_rank_score == 0
    assert addends(found)["blocked_host"]["points"] == -usual.embedding_rank_score
    assert found.explanation["refused"] == "the host a.example is blocked"
    assert "refused" not in usual.explanation


@pytest.mark.parametrize(
    ("question", "page", "said"),
    [
        (QUESTION, PAGE, "It has 2 of the question's 3 words, 1 in the title (missing: asyncio);"),
        ("cancel tasks", PAGE, "It has all the question's 2 words, 1 in the title;"),
        ("task", PAGE, "It has the question's only word, in the title;"),
        ("running", PAGE, "It has the question's only word;"),
        ("sourdough", PAGE, "It lacks the question's only word (missing: sourdough);"),
        ("soup kitchen", PAGE, "It has none of the question's 2 words (missing: soup, kitchen);"),
        ("cancel running", PAGE, "It has all the question's 2 words, none in the title;"),
        ("!?", PAGE, "The question has no words to look for;"),
        ("task", UNTITLED, "It has the question's only word and no title;"),
    ],
)
def test_the_sentence_counts_words(question: str, page: PageText, said: str) -> None:
    """Of the question, those in the title, and those that are missing."""
    (found,) = rank(question, [page])
    assert found.explanation["sentence"].startswith(said)


def test_the_sentence_names_what_counts_most() -> None:
    """Rare words where others are not, and what the address costs."""
    page = PageText("Time", "Asyncio takes time.", "https://a.example/login")
    (found,) = rank("asyncio time", [page])
    assert found.explanation["sentence"] == (
        "It has all the question's 2 words, 1 in the title (rare: asyncio); by wording it is"
        " close; its address costs 4 points."
    )


def test_long_words_and_lists_are_cut() -> None:
    """A sentence stays short whatever the question."""
    question = " ".join(f"{letter * 60}" for letter in "bcdfgh")
    (found,) = rank(question, [PAGE])
    assert found.explanation["sentence"].count("b") <= 30
    assert " ...)" in found.explanation["sentence"]


@pytest.mark.parametrize(
    ("calibration", "cosine", "said"),
    [
        (None, None, "by wording it is"),
        (DENSE, 0.5, "by meaning and wording it is"),
        (LEXICAL, 0.5, "by wording it is"),
    ],
)
def test_the_sentence_says_what_was_compared(
    calibration: Any, cosine: float | None, said: str
) -> None:
    """Words alone, or a model too."""
    found = one(cosine=cosine, calibration=calibration)
    assert said in found.explanation["sentence"]


def test_nothing_in_common_is_not_close() -> None:
    """Whatever the constant of the scale gives to every page."""
    (found,) = rank("soup kitchen", [PAGE])
    assert "not close" in found.explanation["sentence"]


def test_the_meaning_is_the_measured_share() -> None:
    """Of the score's band on its scale."""
    found = one()
    assert describe_band("lexical", found.embedding_rank_score) in found.explanation["meaning"]
    dense = one(cosine=0.6)
    assert describe_band("dense", dense.embedding_rank_score) in dense.explanation["meaning"]


@pytest.mark.parametrize("scale", RELEVANT_SHARES)
def test_each_band_has_its_share(scale: str) -> None:
    """Its lower edge belongs to it, its upper one to the next; more points mean more."""
    shares = RELEVANT_SHARES[scale]
    assert len(shares) == len(BAND_EDGES) - 1
    assert list(shares) == sorted(shares)
    for low, high, share in zip(BAND_EDGES, BAND_EDGES[1:], shares, strict=False):
        said = f"with {low} to {high} points about {100 * share:.0f} of 100"
        assert said in describe_band(scale, low)
        assert said in describe_band(scale, high - 0.01)
    assert describe_band(scale, 100) == describe_band(scale, 99)
