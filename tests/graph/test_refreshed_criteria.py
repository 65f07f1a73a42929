"""A refresh takes an approval in spite of criteria for these criteria, and for no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.judging_model import JudgingModel
from support.scripted_world import QUESTION
from support.told_pages import SCOPE, begin_review, documents_of

from collection_search import SearchContext, Settings, refresh, wait
from collection_search.contracts.search import ProviderSearchResult
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedAdapter, ScriptedAnswerModel, ScriptedEmbedder

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.slow

OTHER_QUESTION = "How do I set a timeout for an asyncio task?"
PRICE, GERMAN = ["It names: price"], ["It names: german"]


def page(name: str, said: str) -> ProviderSearchResult:
    text = f"How to cancel an asyncio task after a timeout with asyncio.timeout, {said}."
    return ProviderSearchResult(
        url=f"https://docs.example.com/{name}",
        title="Cancel an asyncio task after a timeout",
        snippet=text,
        content=text,
        source="docs",
    )


GOOD = page("good", "the price in german")
FREE = page("free", "without price and without german")


def judged(settings: Settings, *pages: ProviderSearchResult) -> SearchContext:
    """Return the context of searches that find these pages, with a model that judges them."""
    return SearchContext(
        settings=settings,
        provider=ScriptedAdapter(list(pages)),
        embeddings=ScriptedEmbedder(),
        model=ScriptedAnswerModel(JudgingModel()),
    )


def approve(
    context: SearchContext, url: str, approver: str, criteria: list[str], question: str = QUESTION
) -> None:
    """Ask with a review that approves one page."""
    reviews, gate_id = begin_review(context, criteria=criteria, question=question)
    decision = {"status": "partial", "approved_urls": [url], "approver": approver}
    ingestion = reviews.decide(gate_id, decision)["ingestion"]
    assert ingestion is not None
    wait(str(ingestion["ticket"]), 60, context=context)


def overruled(settings: Settings) -> None:
    """Have ann take a page in spite of one question's criteria."""
    approve(judged(settings, GOOD, FREE), FREE.url, "ann", PRICE)


def asked_by_german(settings: Settings) -> None:
    """Leave one question, which another person has reviewed, with other criteria."""
    context = judged(settings, GOOD, FREE)
    approve(context, GOOD.url, "bob", GERMAN, OTHER_QUESTION)
    run_blocking(context.storage()).collections.forget_question(SCOPE, QUESTION)


def criteria_of(settings: Settings) -> Mapping[str, Any]:
    """Return what is stored of the page that ann took."""
    (found,) = [one for one in documents_of(judged(settings)) if one.url == FREE.url]
    told: Mapping[str, Any] = found.provenance["criteria"]
    return told


def test_other_criteria_refuse_the_page(settings: Settings) -> None:
    """Nobody took it in spite of these: it stays as it is stored."""
    overruled(settings)
    asked_by_german(settings)
    before = criteria_of(settings)
    changed = page("free", "without price and without german, second edition")
    assert refresh("tea", context=judged(settings, GOOD, changed)).changed == []
    assert criteria_of(settings) == before
    assert before["overruled_by"] == "ann"


def test_other_criteria_that_accept_the_page_are_not_overruled(settings: Settings) -> None:
    overruled(settings)
    asked_by_german(settings)
    changed = page("free", "without price but in german")
    assert refresh("tea", context=judged(settings, GOOD, changed)).changed == [FREE.url]
    told = criteria_of(settings)
    assert [one["criterion"] for one in told["verdicts"]] == GERMAN
    assert (told["refused"], "overruled_by" in told) == (False, False)


def test_the_same_criteria_stay_overruled(settings: Settings) -> None:
    """Also after a text that they accept; no verdict that accepts the page has the mark."""
    overruled(settings)
    for said in ("without price, second edition", "and the price of it", "again without price"):
        changed = judged(settings, GOOD, page("free", said))
        assert refresh("tea", context=changed).changed == [FREE.url]
        told = criteria_of(settings)
        assert (told["refused"], told["overruled_by"]) == (True, "ann")
