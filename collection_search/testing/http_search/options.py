"""What becomes of the options: what is said of them is what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from ...contracts.options import MAX_DOMAINS, NO_OPTIONS, SearchOptions, in_domains
from ...ports.description import describe
from ..providers.sample_index import TODAY, find_hits
from .base import PATIENCE_S, HttpContract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...contracts.options import OptionName
    from ...contracts.search import SearchAdapterResponse

_ODD_SITE: Final = "docs.example.org"
_EVEN_SITE: Final = "blog.example.com"
_ELSEWHERE: Final = "elsewhere.example.net"
_DONE_BY_THE_VENDOR: Final = {"native", "emulated"}

CASES: Final[Mapping[str, SearchOptions]] = {
    "count": SearchOptions(max_results=7),
    "deep": SearchOptions(search_depth="deep"),
    "one_site": SearchOptions(include_domains=(_ODD_SITE,), domain_mode="restrict"),
    "two_sites": SearchOptions(include_domains=(_EVEN_SITE, _ELSEWHERE), domain_mode="restrict"),
    "preferred_site": SearchOptions(include_domains=(_EVEN_SITE,)),
    "not_one_site": SearchOptions(exclude_domains=(_ODD_SITE,)),
    "not_two_sites": SearchOptions(exclude_domains=(_EVEN_SITE, _ELSEWHERE)),
    "one_site_and_not_another": SearchOptions(
        include_domains=("example.org",), exclude_domains=(_EVEN_SITE,), domain_mode="restrict"
    ),
    "news": SearchOptions(topic="news"),
    "content": SearchOptions(include_content=True),
    "day": SearchOptions(freshness="day"),
    "week": SearchOptions(freshness="week"),
    "month": SearchOptions(freshness="month"),
    "year": SearchOptions(freshness="year"),
    "days": SearchOptions(freshness="2026-02-01..2026-02-20"),
    "days_until_today": SearchOptions(freshness="2026-02-20.."),
    "language": SearchOptions(language="de"),
    "country": SearchOptions(country="DE"),
    "rare_language": SearchOptions(language="yi"),
    "rare_country": SearchOptions(country="AQ"),
    "everything": SearchOptions(
        search_depth="deep",
        include_domains=(_ODD_SITE,),
        exclude_domains=(_ELSEWHERE,),
        domain_mode="restrict",
        topic="news",
        include_content=True,
        freshness="month",
        language="de",
        country="DE",
    ),
}
"""Searches with options, by name."""

_USUAL: Final = SearchOptions(search_depth="basic", topic="general", include_content=False)


class OptionsContract(HttpContract):
    """What `applied` claims is in the request, and nothing else is.

    For adapters with the keyword `options`; the dialect's `requested` reads the requests. Where a
    freshness becomes days, today has to be `providers.pages.TODAY`.
    """

    @pytest.mark.parametrize("case", CASES)
    def test_what_is_claimed_is_asked_for(self, case: str) -> None:
        """Each option that the vendor is said to see to stands in each request, and no other."""
        options = CASES[case]
        response = self._search_with(options, max_results=25)
        asked = options.asked()
        assert response.applied.keys() <= asked.keys()
        claimed: dict[OptionName, Any] = {
            name: value
            for name, value in asked.items()
            if response.applied.get(name) in _DONE_BY_THE_VENDOR
            and name not in {"max_results", "include_content"}
        }
        for request in self.running.requests:
            requested = self.running.dialect.options(request).asked()
            requested.pop("include_content", None)  # it may come unasked
            assert _comparable(requested) == _comparable(claimed)
        assert self.running.refused == []

    @pytest.mark.parametrize("case", CASES)
    def test_the_rows_are_those_that_the_vendor_chose(self, case: str) -> None:
        """Answers to questions with options are read as well as others."""
        options = CASES[case]
        response = self._search_with(options, max_results=20)
        requested = self.running.dialect.options(self.running.requests[0])
        ranks = self._ranks(self._urls(response))
        dialect = self.running.dialect
        expected = [page.number for page in find_hits(self.query, requested)]
        expected = [n for n in expected if n not in dialect.without_text or n in ranks]
        assert ranks == expected[: len(ranks)]
        most = min(20, dialect.reach, len(expected))
        assert len(ranks) >= most - len(dialect.without_text)

    @pytest.mark.parametrize("options", [NO_OPTIONS, _USUAL], ids=["none", "usual"])
    def test_what_is_not_asked_changes_nothing(self, options: SearchOptions) -> None:
        """The request is the same as without options, and nothing is claimed."""
        self._search()
        response = self._search_with(options)
        first, second = self.running.requests
        assert (first.path, first.params, first.body) == (second.path, second.params, second.body)
        assert response.applied == {}
        assert {row.content for row in response.results} == {None}

    def test_contents_come_when_they_are_asked_for(self) -> None:
        """Texts of pages, if that is claimed, and otherwise none."""
        response = self._search_with(SearchOptions(include_content=True))
        contents = [row.content for row in response.results if row.content]
        assert bool(contents) == ("include_content" in response.applied)
        assert all("asyncio" in content.lower() for content in contents)

    def test_a_deep_search_costs_more_where_it_is_one(self) -> None:
        """The units of the price tell, before and after; one request costs one otherwise."""
        options = SearchOptions(search_depth="deep")
        usual, deep = self._search_with(NO_OPTIONS), self._search_with(options)
        assert usual.credits == usual.request_count
        if "search_depth" not in deep.applied:
            assert deep.credits == deep.request_count
        elif deep.applied["search_depth"] == "native":
            assert (deep.credits or 0) > deep.request_count

    @pytest.mark.parametrize("name", ["include_domains", "exclude_domains"])
    @pytest.mark.parametrize("count", [2, 12, 40, MAX_DOMAINS])
    def test_many_domains_leave_room_for_the_query(self, name: OptionName, count: int) -> None:
        """All of them are asked for, or none; the query is sent, and not refused."""
        sites = (_ODD_SITE, *(f"site-{n}.example.net" for n in range(count - 1)))
        options = SearchOptions.model_validate({name: sites, "domain_mode": "restrict"})
        response = self._search_with(options)
        dialect, request = self.running.dialect, self.running.requests[0]
        assert getattr(dialect.options(request), name) == (
            sites if response.applied.get(name) in _DONE_BY_THE_VENDOR else ()
        )
        assert self.query in dialect.query(request)
        assert self.running.refused == []

    def test_a_long_query_keeps_its_sites(self) -> None:
        """Words are cut, operators are not."""
        options = CASES["two_sites"]
        query = ("asyncio " * 1_000).strip()
        response = self._search_with(options, query=query)
        request = self.running.requests[0]
        requested = self.running.dialect.options(request)
        if response.applied.get("include_domains") in _DONE_BY_THE_VENDOR:
            assert requested.include_domains == options.include_domains
        sent = self.running.dialect.query(request)
        assert len(sent) <= self.running.dialect.max_query_chars
        assert len(sent.split()) <= self.running.dialect.max_query_words
        assert self.running.refused == []

    def test_sites_are_matched_whole(self) -> None:
        """The vendor's rows hold the domain and those below it."""
        response = self._search_with(CASES["one_site"])
        if response.applied.get("include_domains") in _DONE_BY_THE_VENDOR:
            hosts = {url.split("/")[2] for url in self._urls(response)}
            assert all(in_domains(host, (_ODD_SITE,)) for host in hosts)

    def _search_with(
        self, options: SearchOptions, *, query: str | None = None, max_results: int = 10
    ) -> SearchAdapterResponse:
        adapter: Any = self.adapter()
        if not describe(adapter).search.takes_options:
            pytest.skip("the adapter takes no options")
        response: SearchAdapterResponse = adapter.search(
            query or self.query, max_results=max_results, timeout=PATIENCE_S, options=options
        )
        return response


def _comparable(asked: Mapping[OptionName, Any]) -> dict[OptionName, Any]:
    """Return the options with a freshness as its days, the end of which may be left open."""
    if not (fresh := asked.get("freshness")):
        return dict(asked)
    first, last = SearchOptions(freshness=fresh).published(TODAY)
    return {**asked, "freshness": (first, last or TODAY)}
