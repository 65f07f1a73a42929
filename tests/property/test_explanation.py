"""What holds for the explanation of every score."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.contracts.heuristic_rules import HeuristicRules, OwnWeights
from collection_search.contracts.options import in_domains
from collection_search.ranking.explanation import sum_to
from collection_search.ranking.preferences import judge_preferences, matching_domain
from collection_search.ranking.score_text import format_score
from collection_search.ranking.scoring import (
    DENSE,
    LEXICAL,
    Calibration,
    PageText,
    Profile,
    Scored,
    rank,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

TODAY = date(2026, 6, 1)
WORDS = st.sampled_from(
    ["task", "asyncio", "Haus", "Häuser", "the", "die", "und", "C++", "Tesla", "42", "cancelled"]
)
TEXTS = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=12).map(" ".join))
HOSTS = st.sampled_from(["a.example", "docs.a.example", "b.example", "a.example.b.example"])
URLS = st.one_of(
    st.text(max_size=20),
    st.builds(
        "https://{}/{}".format, HOSTS, st.sampled_from(["", "login", "tag/cart/login?" + 70 * "q"])
    ),
)
PAGES = st.lists(st.builds(PageText, TEXTS, TEXTS, URLS), max_size=6)
PROFILES: st.SearchStrategy[Profile] = st.sampled_from(["default", "literal"])
SCALES = st.one_of(
    st.sampled_from([None, LEXICAL, DENSE]),
    st.builds(
        Calibration,
        st.just("dense"),
        similarity=st.floats(0, 20),
        wording=st.floats(0, 20),
        constant=st.floats(-10, 10),
        unrelated=st.floats(-0.5, 0.4),
        related=st.floats(0.45, 1),
    ),
)
WEIGHTS = st.builds(
    OwnWeights,
    embedding_share=st.floats(0, 1),
    title=st.floats(0, 100),
    coverage=st.floats(1, 100),
    address=st.floats(0, 100),
)
RULES = st.builds(
    HeuristicRules,
    trusted_hosts=st.lists(HOSTS, max_size=2).map(tuple),
    trusted_points=st.floats(0, 20),
    blocked_hosts=st.lists(HOSTS, max_size=1).map(tuple),
    freshness_days=st.one_of(st.none(), st.integers(1, 400)),
    freshness_points=st.floats(0, 10),
    language=st.sampled_from([None, "de", "en", "ja"]),
    language_points=st.floats(0, 20),
    weights=st.one_of(st.none(), WEIGHTS),
)
DAYS = st.one_of(st.none(), st.dates(date(2024, 1, 1), date(2027, 1, 1)))


@st.composite
def ranked(draw: st.DrawFn) -> Sequence[Scored]:
    """The results of any ranking: each profile and scale, with and without a tenant's rules."""
    pages = draw(PAGES)
    size = len(pages)
    cosines = st.one_of(
        st.lists(st.floats(), min_size=size, max_size=size),
        st.lists(st.floats(-1, 1), min_size=size, max_size=size),
    )
    rules = draw(st.one_of(st.none(), RULES))
    days = draw(st.lists(DAYS, min_size=size, max_size=size))
    return rank(
        draw(TEXTS),
        pages,
        similarities=draw(st.one_of(st.none(), cosines)),
        profile=draw(PROFILES),
        calibration=draw(SCALES),
        model=draw(st.sampled_from([None, "m:2"])),
        preferences=None if rules is None else judge_preferences(rules, pages, days, today=TODAY),
    )


def cents(number: float) -> int:
    return round(100 * number)


def recomputed(addend: dict[str, Any], scale: str) -> float:
    """The embedding score from its inputs."""
    x = math.fsum(each["value"] * each["weight"] for each in addend["inputs"])
    if not addend["inputs"]:
        return 0.0
    return round(x if scale == "literal" else 100 / (1 + math.exp(-x)), 2)


@pytest.mark.slow
@given(found=ranked())
def test_addends_sum_to_the_score(found: Sequence[Scored]) -> None:
    """To the last decimal; each is its value times its weight, and nothing else counts."""
    for each in found:
        told = each.explanation
        points = [addend["points"] for addend in told["addends"]]
        assert sum(map(cents, points)) == cents(each.embedding_rank_score)
        assert round(math.fsum(points), 2) == each.embedding_rank_score
        for addend in told["addends"]:
            slack = 0.011 + 0.006 * abs(addend["weight"]) + 1e-4 * abs(addend["value"])
            assert addend["points"] == pytest.approx(addend["value"] * addend["weight"], abs=slack)
        names = [addend["name"] for addend in told["addends"]]
        assert len({*names}) == len(names)
        assert not {*names} & {*told["not_counted"]}


@pytest.mark.slow
@given(found=ranked())
def test_the_embedding_score_can_be_computed_again(found: Sequence[Scored]) -> None:
    """From the inputs that stand in the explanation, after it went through JSON."""
    for each in found:
        told = json.loads(json.dumps(each.explanation))
        assert told == each.explanation
        similarity = told["addends"][0]
        assert similarity["value"] == told["embedding_score"]
        assert recomputed(similarity, told["scale"]) == told["embedding_score"]


@pytest.mark.slow
@given(found=ranked())
def test_scores_stay_in_their_range(found: Sequence[Scored]) -> None:
    """0-100 for score and heuristics whatever a tenant's rules; what is refused comes last."""
    keys = []
    for each in found:
        assert 0 <= each.embedding_rank_score <= 100
        assert 0 <= each.heuristic_score <= 100
        is_refused = "refused" in each.explanation
        assert each.embedding_rank_score == 0 or not is_refused
        keys.append((is_refused, -each.embedding_rank_score))
    assert keys == sorted(keys)


@pytest.mark.slow
@given(found=ranked())
def test_the_sentence_is_one_line(found: Sequence[Scored]) -> None:
    """It begins with a capital, ends with a full stop and is short."""
    for each in found:
        said = each.explanation["sentence"]
        assert said[0].isupper()
        assert said.endswith(".")
        assert said.isprintable()
        assert len(said) < 600


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=9))
def test_parts_are_rounded_to_their_sum(parts: list[float]) -> None:
    """Each is off by less than 0.01, and 0 stays 0."""
    whole = round(math.fsum(parts), 2)
    found = sum_to(whole, parts)
    assert sum(map(cents, found)) == cents(whole)
    for part, rounded in zip(parts, found, strict=True):
        assert abs(part - rounded) <= 0.01 + 1e-9
        assert part or not rounded


@given(host=HOSTS, domains=st.lists(HOSTS, max_size=3))
def test_hosts_match_as_domains_of_a_search_do(host: str, domains: list[str]) -> None:
    """The host or a domain above it, by whole labels."""
    found = matching_domain(host, {*domains})
    assert bool(found) is in_domains(host, tuple(domains))
    assert not found or in_domains(host, (found,))


@given(score=st.floats(0, 100).map(lambda x: round(x, 2)), tenths=st.integers(0, 1000))
def test_a_shown_score_never_contradicts_a_threshold(score: float, tenths: int) -> None:
    """What is shown reaches a threshold exactly where the score does."""
    for threshold in (tenths / 10, score, round(score + 0.01, 2)):
        shown = float(format_score(score, beside=threshold))
        assert (shown >= threshold) is (score >= threshold)
