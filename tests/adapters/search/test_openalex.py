"""OpenAlex: its abstracts, its addresses, and its etiquette."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.vendor_adapters import KEY, OPENALEX, answer, refused

from collection_search import Settings
from collection_search.adapters.search.openalex import (
    MAX_ABSTRACT_CHARS,
    MAX_ABSTRACT_WORDS,
    OpenAlexSearch,
    join_abstract,
)
from collection_search.errors import ConfigError, SearchProviderInvalidQuery
from collection_search.settings.adapter_factory import make_adapter, provider_guard
from collection_search.testing import ProviderServer

if TYPE_CHECKING:
    from collection_search.contracts.search import ProviderSearchResult

PLACE = {
    "landing_page_url": "https://journal.example/1",
    "pdf_url": "https://journal.example/1.pdf",
    "source": {"display_name": "Journal of Tests"},
}
WORK: dict[str, Any] = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.5555/1",
    "display_name": "Asyncio",
    "type": "book-chapter",
    "publication_date": "2026-03-02",
    "primary_location": PLACE,
    "best_oa_location": PLACE,
    "abstract_inverted_index": {"How": [0], "tasks": [1, 3], "cancel": [2]},
}


def row(**changes: Any) -> ProviderSearchResult:
    (made,) = OPENALEX.parse(answer({"results": [WORK | changes]})).rows
    return made


@pytest.mark.parametrize(
    ("changes", "url", "content_type"),
    [
        ({}, PLACE["pdf_url"], "application/pdf"),
        ({"best_oa_location": PLACE | {"pdf_url": None}}, PLACE["landing_page_url"], None),
        ({"best_oa_location": None}, PLACE["landing_page_url"], None),
        ({"best_oa_location": None, "primary_location": None}, WORK["doi"], None),
        ({"best_oa_location": [], "primary_location": 7, "doi": None}, WORK["id"], None),
    ],
)
def test_the_address_with_the_most_text_comes_first(changes, url, content_type):
    """The open text, its page, the publisher's page, the DOI, the catalogue."""
    made = row(**changes)
    assert (made.url, made.content_type) == (url, content_type)


def test_a_work_is_mapped():
    """The abstract is a snippet, not the text of the page; no score is honest."""
    made = row()
    assert (made.title, made.snippet) == ("Asyncio", "How tasks cancel tasks")
    assert (made.source, made.published_date) == ("Journal of Tests", "2026-03-02")
    assert (made.content, made.score) == (None, None)


@pytest.mark.parametrize(
    ("changes", "snippet"),
    [
        ({}, "Book chapter in Journal of Tests, 2026"),
        ({"primary_location": None, "best_oa_location": None}, "Book chapter, 2026"),
        ({"type": None, "publication_date": None}, "Journal of Tests"),
    ],
)
def test_without_an_abstract_the_snippet_says_what_it_is(changes, snippet):
    """Many works have none: they would be dropped."""
    assert row(abstract_inverted_index=None, **changes).snippet == snippet


def test_an_abstract_is_bounded():
    """In words and in characters, whatever the places say."""
    long = {f"word{n}": [n, 10**12 + n] for n in range(100_000)}
    assert len(join_abstract(long).split()) <= MAX_ABSTRACT_WORDS
    wide = join_abstract({"x" * 3_000: [0], "y" * 3_000: [1]})
    assert wide == "x" * 3_000
    assert len(join_abstract({"z" * 9_000: [0]})) == MAX_ABSTRACT_CHARS


def test_the_contact_is_sent_to_them_too(tmp_path):
    """In the User-Agent, not in the address, which servers log."""
    with ProviderServer("openalex") as server:
        access = {"openalex": {"base_url": server.base_url}}
        settings = Settings(home=tmp_path, providers=access, fetch_contact="me@example.com")
        adapter = make_adapter(settings, "search", "openalex")
        adapter.search("asyncio", max_results=3)
    (request,) = server.requests
    assert request.headers["user-agent"].endswith(" (me@example.com)")
    assert "example.com" not in request.target
    assert request.params["per_page"] == "3"


def test_a_contact_that_no_header_takes_is_named():
    with pytest.raises(ConfigError, match="fetch_contact"):
        OpenAlexSearch(contact="ich (über)")


@pytest.mark.parametrize(("given", "rate_per_s"), [({}, 10.0), ({"rate_per_s": 2}, 2.0)])
def test_ten_requests_in_a_second_are_the_most(tmp_path, given, rate_per_s):
    """Unless the settings say otherwise: the rate is part of the guard's identity."""
    settings = Settings(home=tmp_path, providers={"openalex": given})
    same = Settings(home=tmp_path, providers={"openalex": {"rate_per_s": rate_per_s}})
    other = Settings(home=tmp_path, providers={"openalex": {"rate_per_s": 3}})
    adapter = make_adapter(settings, "search", "openalex")
    guard = provider_guard(settings, adapter)
    assert guard is not None
    assert guard is provider_guard(same, adapter)
    assert guard is not provider_guard(other, adapter)


@pytest.mark.parametrize(
    ("headers", "left"),
    [
        ({"X_RateLimit_Remaining_USD": "0.097"}, 97),
        (
            {
                "X_RateLimit_Remaining_USD": "0.01",
                "X_RateLimit_Prepaid_Remaining_USD": "2",
                "X_RateLimit_Cost_USD": "0.001",
            },
            2010,
        ),
        ({"X_RateLimit_Remaining_USD": "1", "X_RateLimit_Cost_USD": "1e-300"}, 1000),
        ({"X_RateLimit_Remaining_USD": "nan"}, None),
        ({"X_RateLimit_Remaining_USD": "-1"}, None),
        ({}, None),
    ],
)
def test_the_rest_of_the_day_is_read_without_trust(headers, left):
    lower = {name.lower(): value for name, value in headers.items()}
    page = OPENALEX.parse(answer({"results": [WORK]}, **lower))
    assert page.quota_remaining == left


def test_what_a_used_up_budget_leads_to():
    """It names the key that raises it, and the vendor's own sentence."""
    text = "Insufficient budget. This request costs $0.001."
    error = refused(OPENALEX, 429, {"error": "Rate limit exceeded", "message": text})
    assert (error.code, error.retryable) == ("quotaExceeded", False)
    assert "OPENALEX_API_KEY" in str(error)
    assert "costs $0.001" in str(error)


def test_a_query_of_wildcards_is_none():
    with pytest.raises(SearchProviderInvalidQuery):
        OpenAlexSearch(api_key=KEY).search("?? *", max_results=3)
