"""The adapter of ddgs, its library replaced by a double that is given to the constructor."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from collection_search.adapters.search.ddgs import DdgsSearch
from collection_search.contracts.options import SearchOptions
from collection_search.errors import (
    InputError,
    MissingExtraError,
    SearchProviderBadResponse,
    SearchProviderInvalidQuery,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.settings import Settings
from collection_search.testing import SearchAdapterContract

exceptions = pytest.importorskip("ddgs.exceptions")


class Library:
    """Stands in for `ddgs.DDGS`."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.timeouts: list[Any] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, *, timeout: int) -> Library:
        self.timeouts.append(timeout)
        return self

    def text(self, query: str, **keywords: Any) -> Any:
        self.calls.append((query, keywords))
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        if "qzxv" in query:
            raise exceptions.DDGSException("No results found.")
        return [
            {"title": f"Part {n}", "href": f"https://example.com/{n}", "body": f"About {n}."}
            for n in range(1, 31)
        ]


def ask(library: Library, query: str = "asyncio", **options: Any) -> Any:
    wish = SearchOptions(**options) if options else None
    return DdgsSearch(client=library).search(query, max_results=5, options=wish)


class TestContract(SearchAdapterContract):
    """What every search adapter keeps, but for this: to find nothing is a failure."""

    query = "asyncio"

    def adapter(self) -> DdgsSearch:
        return DdgsSearch(client=Library())

    def test_nothing_found_is_an_empty_answer(self) -> None:
        """It cannot be told from a failure of all engines."""
        with pytest.raises(SearchProviderUnavailable):
            self.adapter().search(self.unknown_query, max_results=5)


def test_a_row():
    """Title, address and text; a note says what this provider is, and nobody sends a bill."""
    library = Library()
    response = DdgsSearch(client=library).search("asyncio", max_results=2, timeout=3.2)
    best = response.results[0]
    assert (best.url, best.title, best.snippet, best.source) == (
        "https://example.com/1",
        "Part 1",
        "About 1.",
        "ddgs",
    )
    assert len(response.results) == 2
    assert response.cost_usd == 0
    assert "cannot be reproduced" in response.notices[0]
    assert library.calls == [("asyncio", {"max_results": 2})]
    assert library.timeouts == [4]


@pytest.mark.parametrize(
    ("error", "kind", "code", "retryable"),
    [
        (
            exceptions.RatelimitException("202 Ratelimit"),
            SearchProviderQuotaExceeded,
            "rateLimited",
            True,
        ),
        (
            exceptions.DDGSException(exceptions.RatelimitException("202 Ratelimit")),
            SearchProviderQuotaExceeded,
            "rateLimited",
            True,
        ),
        (exceptions.TimeoutException("timed out"), SearchProviderTimeout, "timeout", True),
        (
            exceptions.TimeoutException(exceptions.DDGSException("timed out")),
            SearchProviderTimeout,
            "timeout",
            True,
        ),
        (
            exceptions.DDGSException("No results found."),
            SearchProviderUnavailable,
            "serviceUnavailable",
            False,
        ),
        (
            exceptions.DDGSException(RuntimeError("connection refused")),
            SearchProviderUnavailable,
            "serviceUnavailable",
            True,
        ),
    ],
)
def test_errors(error, kind, code, retryable):
    """What went wrong with an engine may be inside the library's own exception."""
    with pytest.raises(kind) as caught:
        ask(Library(error))
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert caught.value.__cause__ is error


def test_nothing_found_is_told_as_what_it_is():
    """One of two things, of which neither is known."""
    with pytest.raises(SearchProviderUnavailable, match="or all of its engines failed"):
        ask(Library(exceptions.DDGSException("No results found.")))


def test_options():
    """Operators for domains, words for a period, a region for language and country together."""
    library = Library()
    response = ask(
        library,
        include_domains=("a.org", "b.org"),
        exclude_domains=("c.org",),
        domain_mode="restrict",
        freshness="week",
        language="en",
        country="GB",
        topic="news",
    )
    assert library.calls == [
        (
            "asyncio (site:a.org OR site:b.org) -site:c.org",
            {"max_results": 5, "timelimit": "w", "region": "uk-en"},
        )
    ]
    assert response.applied == {
        "include_domains": "emulated",
        "exclude_domains": "emulated",
        "freshness": "native",
        "language": "native",
        "country": "native",
    }


@pytest.mark.parametrize(
    "options",
    [
        {"freshness": "2026-01-01..2026-01-31"},
        {"language": "de"},
        {"country": "DE"},
        {"include_domains": ("a.org",)},
        {"exclude_domains": tuple(f"site-number-{n}.example.com" for n in range(50))},
        {"search_depth": "deep", "include_content": True},
    ],
)
def test_what_it_cannot_do_is_left_to_others(options):
    """Days, half a region, domains that come first, and more domains than a query holds."""
    library = Library()
    assert ask(library, **options).applied == {}
    assert library.calls == [("asyncio", {"max_results": 5})]


@pytest.mark.parametrize("answer", [{}, "text", 7])
def test_another_answer_is_a_bad_response(answer):
    with pytest.raises(SearchProviderBadResponse):
        ask(Library(answer))


def test_rows_without_an_address_are_left_out():
    rows = [None, 7, {}, {"href": None}, {"href": "https://a.org", "title": None, "body": 7}]
    assert [(row.url, row.title, row.snippet) for row in ask(Library(rows)).results] == [
        ("https://a.org", "", "")
    ]


def test_wrong_calls():
    with pytest.raises(InputError):
        DdgsSearch(client=Library()).search("asyncio", max_results=0)
    with pytest.raises(InputError):
        DdgsSearch(timeout=0)
    with pytest.raises(SearchProviderInvalidQuery):
        ask(Library(), " ")


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"collection-search\[ddgs\]"):
        DdgsSearch()


@pytest.mark.slow
def test_the_library_is_made_with_the_settings_limit(monkeypatch):
    """The real class takes what the adapter gives it; its search alone is replaced."""
    ddgs = pytest.importorskip("ddgs")
    made: list[Any] = []

    def text(self: Any, query: str, **keywords: Any) -> list[dict[str, str]]:
        made.append(self)
        return [{"href": "https://a.org", "title": query, "body": "b"}]

    monkeypatch.setattr(type(ddgs.DDGS()), "text", text)
    adapter = DdgsSearch.from_settings(Settings(search_timeout_s=7))
    assert adapter.search("asyncio", max_results=3).results[0].title == "asyncio"
    assert isinstance(made[0], type(ddgs.DDGS()))
    assert made[0]._timeout == 7


@pytest.mark.parametrize("words", [1, 300])
@pytest.mark.parametrize("domains", [1, 9, 30])
def test_query_and_sites_together_are_not_too_long(words: int, domains: int) -> None:
    """Half of the room is the query's; a cut one is told, sites without room are not `emulated`."""
    library, query = Library(), " ".join(["asyncio"] * words)
    wish = SearchOptions(
        include_domains=tuple(f"site{n}.example.org" for n in range(domains)),
        domain_mode="restrict",
    )
    answer = DdgsSearch(client=library).search(query, max_results=5, options=wish)
    [(asked, _)] = library.calls
    assert len(asked) <= 400
    assert asked.startswith("asyncio")
    assert ("site:" in asked) is (answer.applied.get("include_domains") == "emulated")
    assert any("was cut to" in notice for notice in answer.notices) is (words == 300)
