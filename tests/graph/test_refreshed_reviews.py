"""A refresh brings what reviews have approved, and changes nothing of who has approved it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import QUESTION
from support.told_pages import (
    SCOPE,
    asked,
    begin_review,
    documents_of,
    filled,
    review,
    reviewed,
    searched,
    told,
)

from collection_search import (
    SearchContext,
    Settings,
    refresh,
    verify_coverage,
)
from collection_search.errors import IngestError, UnknownCollectionError
from collection_search.graphs.universal_ingestion import UniversalIngestionGraph
from collection_search.runtime.concurrency import offload, run_blocking
from collection_search.testing import RecordingTrigger, ScriptedAdapter
from collection_search.text.urls import url_key
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from collection_search.contracts.collection import Document


def test_only_what_a_review_has_approved_is_taken_again(settings: Settings) -> None:
    """However many these are and whatever they score; that others were found is told."""
    context, urls = reviewed(settings, 0, 1, 2, 3)
    for _ in range(2):  # the second time goes by what the first one stored
        report = refresh("tea", context=context)
        assert (report.unchanged, report.new, report.not_looked_at) == (urls[:4], [], [])
        assert sorted(report.questions[0].unreviewed) == urls[4:]


def test_a_changed_text_keeps_who_approved_the_page(settings: Settings) -> None:
    """The provenance has the reviewer and the review, as before."""
    context, _ = reviewed(settings, 0, 1)
    (before,) = [one for one in documents_of(context) if one.url == told("1").url]
    changed = told("1", 77)
    again = context.model_copy(update={"provider": ScriptedAdapter([told("0", 0), changed])})
    assert refresh("tea", context=again).changed == [changed.url]
    (after,) = [one for one in documents_of(context) if one.url == changed.url]
    assert after.content_hash != before.content_hash
    assert after.provenance["review"] == before.provenance["review"]
    assert after.provenance["approved_by"] == before.provenance["approved_by"] == "person"


def test_what_one_of_several_reviews_has_approved_is_taken_again(settings: Settings) -> None:
    """Another round, or the same question once more."""
    context, urls = reviewed(settings, 0, 1)
    review(context, urls[2:3])
    report = refresh("tea", context=context)
    assert (report.unchanged, report.not_looked_at) == (urls[:3], [])


def test_what_came_without_a_review_is_looked_at_too(settings: Settings) -> None:
    """It is in the collection, so that it brings nothing new; it is not said to need a review."""
    pages = [told(f"{n}", n) for n in range(6)]
    context = filled(settings, pages[:2])
    context = context.model_copy(update={"provider": ScriptedAdapter(pages)})
    review(context, [pages[5].url])
    report = refresh("tea", context=context)
    urls = [pages[n].url for n in (0, 1, 5)]
    assert (report.unchanged, report.new, report.not_looked_at) == (urls, [], [])
    assert sorted(report.questions[0].unreviewed) == [pages[n].url for n in (2, 3, 4)]


def test_what_a_review_has_rejected_does_not_come(settings: Settings) -> None:
    """Also where the question was asked without a review before."""
    pages = [told(f"{n}", n) for n in range(6)]
    context = filled(settings, pages, auto_ingest_top_k=3)
    before = {document.url for document in documents_of(context)}
    reviews, gate_id = begin_review(context)
    reviews.decide(gate_id, {"status": "rejected"})
    more = context.model_copy(update={"provider": ScriptedAdapter([*pages[3:], *pages[:3]])})
    assert refresh("tea", context=more).new == []
    assert {document.url for document in documents_of(context)} == before


def test_a_rejected_page_of_a_search_without_ranking_stays_out(settings: Settings) -> None:
    """An earlier version stored the question; each refresh obeys the review of it."""
    pages = [told(f"{n}", n) for n in range(4)]
    context = SearchContext(settings=settings, provider=ScriptedAdapter(pages[:1]))
    searched(context)
    context = context.model_copy(update={"provider": ScriptedAdapter(pages)})
    reviews, gate_id = begin_review(context)
    reviews.decide(gate_id, {"status": "rejected"})
    collections = run_blocking(context.storage()).collections
    (record,) = collections.questions(SCOPE)
    collections.remember_question(SCOPE, record.model_copy(update={"is_reviewed": None}))
    for _ in range(2):
        assert refresh("tea", context=context).new == []


@pytest.mark.parametrize("is_reviewed", [False, True])
def test_reviews_tell_of_questions_that_an_earlier_version_stored(
    settings: Settings, *, is_reviewed: bool
) -> None:
    """The question does not say whether its pages were reviewed."""
    pages = [told(f"{n}", n) for n in range(6)]
    if is_reviewed:
        context, _ = reviewed(settings, 0)
    else:
        context = filled(settings, pages[:1])
        context = context.model_copy(update={"provider": ScriptedAdapter(pages)})
    collections = run_blocking(context.storage()).collections
    (record,) = collections.questions(SCOPE)
    collections.remember_question(SCOPE, record.model_copy(update={"is_reviewed": None}))
    assert bool(refresh("tea", context=context).new) == (not is_reviewed)


def test_nothing_else_comes_where_no_approved_page_is_found(settings: Settings) -> None:
    """The question says so."""
    context, urls = reviewed(settings, 0)
    again = context.model_copy(update={"provider": ScriptedAdapter([told("9", 9)])})
    report = refresh("tea", context=again)
    assert (report.new, report.not_looked_at) == ([], urls[:1])
    assert "no page that was approved" in str(report.questions[0].error)
    assert report.questions[0].unreviewed == [told("9").url]


def document_at(context: SearchContext, url: str) -> Document:
    (found,) = [one for one in documents_of(context) if one.url == url]
    return found


def blocking(settings: Settings) -> Settings:
    """Return settings of the same data folder whose tenants block a host."""
    rules = {"blocked_hosts": ["spam.example.org"]}
    return Settings.model_validate({"home": settings.home, "heuristics": rules})


def given(context: SearchContext, *pages: Any, **more: Any) -> SearchContext:
    """Return the context with a provider that finds these pages."""
    return context.model_copy(update={"provider": ScriptedAdapter(list(pages)), **more})


def test_another_question_changes_nothing_of_who_approved_a_page(settings: Settings) -> None:
    """One that nobody reviews, is asked first and finds the page too."""
    pages = [told(f"{n}", n) for n in range(4)]
    other = "How do I set a timeout for an asyncio task?"
    context = given(filled(settings, pages[2:], question=other), *pages)
    review(context, [pages[0].url, pages[1].url], approver="ann")
    changed = told("1", 99)
    report = refresh("tea", context=given(context, pages[0], changed))
    assert report.changed == [changed.url]
    after = document_at(context, changed.url).provenance
    assert (after["approved_by"], after["review"]["decided_by"]) == ("ann", "person")


def test_a_new_text_of_a_blocked_page_keeps_who_overruled_that(settings: Settings) -> None:
    blocked = blocking(settings)
    page, changed = (told("x", n, host="spam.example.org") for n in (9, 77))
    context = given(SearchContext(settings=blocked), told("0"), page)
    review(context, [told("0").url, page.url], approver="ann")
    refused = document_at(context, page.url).provenance["rules"]
    assert refused["overruled_by"] == "ann"
    assert refresh("tea", context=given(context, told("0"), changed)).changed == [page.url]
    assert document_at(context, page.url).provenance["rules"] == refused


def test_a_page_that_is_blocked_by_now_is_not_taken_without_a_review(settings: Settings) -> None:
    """The review of its question has not chosen it: another question brought it."""
    page, changed = (told("x", n, host="spam.example.org") for n in (9, 77))
    other = "How do I set a timeout for an asyncio task?"
    context = given(filled(settings, [page], question=other), told("0"))
    review(context, [told("0").url])
    blocked = blocking(settings)
    report = refresh("tea", context=given(context, told("0"), changed, settings=blocked))
    assert report.changed == []
    assert "rules" not in document_at(context, page.url).provenance


def test_an_approval_outlasts_a_refresh_that_does_not_find_the_page(settings: Settings) -> None:
    """Also of a page that could not be stored so far."""
    pages = [told("0"), told("1", 2)]
    store = run_blocking(SearchContext(settings=settings).storage())
    context = given(SearchContext(settings=settings), *pages)
    review(
        context.model_copy(update={"trigger": RecordingTrigger(), "store": store}), urls_of(pages)
    )
    assert refresh("tea", context=given(context, pages[0])).new == [pages[0].url]
    report = refresh("tea", context=context)
    assert (report.new, report.questions[0].unreviewed) == ([pages[1].url], [])


def urls_of(pages: list[Any]) -> list[str]:
    return [page.url for page in pages]


class BrokenTrigger:
    """A trigger that never takes pages."""

    async def trigger(self, _request: Any) -> Any:
        raise IngestError("the queue is down")


def test_a_review_counts_though_its_ingestion_did_not_start(settings: Settings) -> None:
    """The question was asked without a review before: the others do not come by a refresh."""
    pages = [told(f"{n}", n) for n in range(6)]
    context = given(filled(settings, pages[:1]), *pages)
    store = run_blocking(context.storage())
    broken = context.model_copy(update={"trigger": BrokenTrigger(), "store": store})
    reviews, gate_id = begin_review(broken)
    decision = {"status": "partial", "approved_urls": [pages[1].url]}
    assert reviews.decide(gate_id, decision)["outcome"] == "auto_ingest_trigger_failed"
    assert refresh("tea", context=context).new == []


def test_a_search_without_ranking_was_not_reviewed(settings: Settings) -> None:
    """Though there was a review of the same words: it brings what it finds."""
    context = given(SearchContext(settings=settings), told("0"))
    review(context, [told("0").url])
    searched(context)
    new = told("new", 5)
    assert refresh("tea", context=given(context, told("0"), new)).new == [new.url]


class AdapterWithAside(ScriptedAdapter):
    """Something else happens while this searches for the first time."""

    def __init__(self, pages: list[Any], aside: Callable[[], Awaitable[Any]]) -> None:
        super().__init__(pages)
        self._asides = [aside]

    async def asearch(self, *args: Any, **options: Any) -> Any:
        while self._asides:
            await self._asides.pop()()
        return await super().asearch(*args, **options)


@pytest.mark.parametrize("is_ranked", [True, False])
def test_a_page_that_is_deleted_during_a_refresh_stays_away(
    settings: Settings, *, is_ranked: bool
) -> None:
    """For good: its deletion is remembered."""
    pages = [told("a"), told("b", 2)]
    context = given(SearchContext(settings=settings), *pages)
    asked(context) if is_ranked else searched(context)
    collections = run_blocking(context.storage()).collections
    deleted = partial(offload, collections.delete_document, SCOPE, url_key(pages[0].url))
    deleting = context.model_copy(update={"provider": AdapterWithAside(pages, deleted)})
    for again in (deleting, context):
        assert refresh("tea", context=again).new == []
        assert [one.url for one in documents_of(context)] == [pages[1].url]


def test_another_questions_page_is_not_approved_by_a_refresh(settings: Settings) -> None:
    """Once it has left the collection, the reviewed question does not bring it."""
    pages = [told("a"), told("b", 2)]
    other = "How do I set a timeout for an asyncio task?"
    context = given(filled(settings, pages[1:], question=other), *pages)
    review(context, [pages[0].url])
    collections = run_blocking(context.storage()).collections
    refresh("tea", context=context)
    (record,) = [one for one in collections.questions(SCOPE) if one.question == QUESTION]
    assert (record.is_reviewed, record.url_keys) == (True, [url_key(pages[0].url)])


def test_a_review_during_a_refresh_counts(settings: Settings) -> None:
    """A person rejects all pages while the question is asked again: no new one comes."""
    pages = [told(f"{n}", n) for n in range(4)]
    context = given(filled(settings, pages[:1]), *pages)
    reviews, gate_id = begin_review(context)
    rejected = partial(reviews.adecide, gate_id, {"status": "rejected"})
    deciding = context.model_copy(update={"provider": AdapterWithAside(pages, rejected)})
    for again in (deciding, context):
        assert refresh("tea", context=again).new == []


def test_a_search_without_ranking_keeps_who_approved_a_page(settings: Settings) -> None:
    context = given(SearchContext(settings=settings), told("0"))
    searched(context, "asyncio timeout")
    context = given(context, told("0"), told("1", 2))
    review(context, [told("1").url], approver="ann")
    changed = told("1", 99)
    assert refresh("tea", context=given(context, told("0"), changed)).changed == [changed.url]
    assert document_at(context, changed.url).provenance["approved_by"] == "ann"


def test_a_refused_page_that_is_not_stored_needs_a_review(settings: Settings) -> None:
    """It was approved before its host was blocked, and could not be stored."""
    pages = [told("0"), told("x", 9, host="spam.example.org")]
    store = run_blocking(SearchContext(settings=settings).storage())
    context = given(SearchContext(settings=settings), *pages)
    recorded = context.model_copy(update={"trigger": RecordingTrigger(), "store": store})
    review(recorded, urls_of(pages))
    blocked = given(context, *pages, settings=blocking(settings))
    assert refresh("tea", context=blocked).new == [pages[0].url]


class TriggerWithAside:
    """The default trigger; a page is deleted by hand while it works."""

    def __init__(self, context: SearchContext, url: str) -> None:
        self._context, self._url = context, url

    async def trigger(self, request: Any) -> Any:
        ticket = await (await self._context.ingestion_trigger()).trigger(request)
        store = await self._context.storage()
        await offload(store.collections.delete_document, SCOPE, url_key(self._url))
        return ticket


def test_a_page_that_is_deleted_as_a_refresh_ends_stays_away(settings: Settings) -> None:
    """Also one that this refresh has not found."""
    pages = [told("a"), told("b", 2)]
    context = given(SearchContext(settings=settings), *pages)
    review(context, urls_of(pages))
    trigger, store = TriggerWithAside(context, pages[1].url), run_blocking(context.storage())
    refresh("tea", context=given(context, pages[0], trigger=trigger, store=store))
    assert refresh("tea", context=context).new == []


@pytest.mark.parametrize("odd", [True, "no", ["overruled_by"], {"overruled_by": "ann"}])
def test_facts_of_a_caller_overrule_nothing(settings: Settings, odd: Any) -> None:
    """Nor do they end a refresh."""
    page, changed = (told("x", n, host="spam.example.org") for n in (9, 77))
    context = filled(settings, [told("0")])
    (ref,) = run_blocking(context.storage()).staging.put("local", ["About tasks, by hand."])
    facts = {"criteria": odd, "rules": odd}
    given_page = {"url": page.url, "title": "Tasks", "content_ref": ref, "provenance": facts}
    output = UniversalIngestionGraph(context).run(
        {
            "source": "preselected",
            "mode": "acquire_and_ingest",
            "selection": "all",
            "collection_scope": "tea",
            "preselected_results": [given_page],
        }
    )
    assert output["ingestion"]
    wait(str(output["ingestion"]["ticket"]), 60, context=context)
    report = refresh("tea", context=given(context, told("0"), changed, settings=blocking(settings)))
    assert (report.changed, report.questions[0].outcome) == ([], "auto_ingest_triggered")


def test_a_review_stays_in_force_after_a_search_without_ranking(settings: Settings) -> None:
    """Refresh after refresh: what it has rejected does not come."""
    pages = [told(f"{n}", n) for n in range(4)]
    context = given(SearchContext(settings=settings), pages[0])
    searched(context)
    context = given(context, *pages)
    reviews, gate_id = begin_review(context)
    reviews.decide(gate_id, {"status": "rejected"})
    for _ in range(2):
        assert refresh("tea", context=context).new == []


def test_a_coverage_check_brings_no_deleted_page_back(settings: Settings) -> None:
    pages = [told("a"), told("b", 2)]
    context = filled(settings, pages)
    collections = run_blocking(context.storage()).collections
    collections.delete_document(SCOPE, url_key(pages[0].url))
    verify_coverage(QUESTION, collection="tea", context=context)
    assert refresh("tea", context=context).new == []


def test_a_refusal_that_was_overruled_stays_so(settings: Settings) -> None:
    """Also where the host was not blocked for a while, or another question found the page."""
    page = told("x", 9, host="spam.example.org")
    context = given(SearchContext(settings=blocking(settings)), told("0"), page)
    review(context, [told("0").url, page.url], approver="ann")
    for number, now in ((77, settings), (78, blocking(settings))):
        changed = told("x", number, host="spam.example.org")
        again = given(context, told("0"), changed, settings=now)
        assert refresh("tea", context=again).changed == [page.url]
        assert document_at(context, page.url).provenance["rules"]["overruled_by"] == "ann"


def test_a_question_that_is_forgotten_during_a_refresh_stays_forgotten(settings: Settings) -> None:
    """It brings no page either, and the report says why."""
    pages = [told("a"), told("b", 2)]
    context = filled(settings, pages[:1])
    collections = run_blocking(context.storage()).collections
    forgotten = partial(offload, collections.forget_question, SCOPE, QUESTION)
    report = refresh(
        "tea", context=context.model_copy(update={"provider": AdapterWithAside(pages, forgotten)})
    )
    assert (report.new, collections.questions(SCOPE)) == ([], [])
    assert "forgotten" in str(report.questions[0].error)


def test_a_collection_that_is_deleted_during_its_refresh_stays_deleted(settings: Settings) -> None:
    """The refresh ends with the error of a collection that is not known."""
    context = filled(settings, [told("a")])
    collections = run_blocking(context.storage()).collections
    deleted = partial(offload, collections.delete_collection, SCOPE)
    again = context.model_copy(update={"provider": AdapterWithAside([told("a")], deleted)})
    with pytest.raises(UnknownCollectionError):
        refresh("tea", context=again)
    assert collections.collections("local") == []


def test_a_question_that_is_asked_anew_during_a_refresh_is_the_new_one(settings: Settings) -> None:
    """With all that was asked for; the refresh brings nothing more of the old one."""
    pages = [told(f"{n}", n) for n in range(4)]
    context = filled(settings, pages[:3], auto_ingest_top_k=3)
    collections = run_blocking(context.storage()).collections
    anew = context.model_copy(update={"provider": ScriptedAdapter(pages)})
    asks = partial(offload, partial(asked, anew, auto_ingest_top_k=4, criteria=[]))
    again = context.model_copy(update={"provider": AdapterWithAside(pages, asks)})
    report = refresh("tea", context=again)
    (record,) = collections.questions(SCOPE)
    assert (record.auto_ingest_top_k, len(record.url_keys)) == (4, 4)
    assert "asked anew" in str(report.questions[0].error)
