"""What adapters say of their providers: declared as data, or by the older attributes."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pytest
from langchain_core.tools import tool

from collection_search.adapters.search.ddgs import DdgsSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.langchain import LangChainSearch
from collection_search.adapters.search.serper import SerperSearch
from collection_search.contracts.search import SearchAdapterResponse
from collection_search.ports import ProviderInfo, description
from collection_search.ports.description import describe, give_source, read_info
from collection_search.settings import Settings, registry
from collection_search.tools.web_search import WebSearchWorker

KEY = "a-key-for-serper-0123456789"


class Searcher:
    """The specified protocol and nothing more."""

    provider_name = "searcher"

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        return SearchAdapterResponse(results=[], status_code=200)


class Attributed(Searcher):
    """An adapter with every older attribute."""

    title = "The Searcher"
    source = "searcher@here#1"
    answers_from = "searcher@here#1&engine"
    page_size = 20
    key_variable = "SEARCHER_API_KEY"
    address_variable = "SEARCHER_URL"
    default_base_url = "https://searcher.example"
    needs_key = True
    api_key = "secret"
    ends_on = date(2030, 1, 1)
    storage_rights = "by plan"


def test_the_older_attributes_are_read() -> None:
    """Each field of the information has an attribute that goes on to work; no secret is in it."""
    assert describe(Attributed()).info == ProviderInfo(
        name="searcher",
        title="The Searcher",
        source="searcher@here#1",
        cache_identity="searcher@here#1&engine",
        page_size=20,
        key_variable="SEARCHER_API_KEY",
        address_variable="SEARCHER_URL",
        default_address="https://searcher.example",
        needs_key=True,
        has_key=True,
        ends_on=date(2030, 1, 1),
        storage_rights="by plan",
    )


def test_an_adapter_that_says_nothing_has_a_name_alone() -> None:
    """The specified protocol is enough."""
    assert describe(Searcher()).info == ProviderInfo(name="searcher")


def test_attributes_of_a_wrong_type_say_nothing() -> None:
    """A price list as `source` or a text as a date breaks nobody who reads the information."""
    wrong = {"source": ["a"], "page_size": "ten", "ends_on": "2027", "title": 7, "info": "none"}
    adapter = type("Odd", (Searcher,), wrong)()
    assert describe(adapter).info == ProviderInfo(name="searcher")


def test_storage_rights_that_nobody_knows_allow_nothing() -> None:
    """A provider that forbids storing in words of its own must not have its texts stored."""
    adapter = type("Forbidding", (Searcher,), {"storage_rights": "forbidden"})()
    assert describe(adapter).info.storage_rights == "unknown"


class Declaring(Searcher):
    """A third party's adapter that offers `info`: on its class, and more of it on itself."""

    info = ProviderInfo(name="declared", key_variable="DECLARED_API_KEY", page_size=7)
    page_size = 99

    def __init__(self, key: str) -> None:
        self.info = replace(type(self).info, source=f"declared#{len(key)}", has_key=True)


def test_info_counts_before_attributes() -> None:
    """What is declared is taken as it is, of the class as well as of the object."""
    declared = read_info(Declaring)
    assert (declared.name, declared.page_size, declared.source) == ("declared", 7, None)
    info = describe(Declaring("abc")).info
    assert (info.page_size, info.source, info.cache_identity) == (7, "declared#3", "declared#3")
    assert info.has_key


def test_the_worker_goes_by_what_is_declared() -> None:
    """Name and page size of `info` reach the outcome and the request."""
    asked: list[int] = []

    class Noting(Declaring):
        def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
            asked.append(max_results)
            return SearchAdapterResponse(results=[], status_code=200)

    from collection_search.testing import RecordingSink, example_context

    worker = WebSearchWorker(Noting("abc"), max_results=5, spans=RecordingSink())
    response = worker.run(query="asyncio", context=example_context())
    assert response.outcome.meta["provider"] == "declared"
    assert asked == [7]


@pytest.mark.parametrize("name", sorted(set(registry.BUILTIN["search"]) - {"langchain"}))
def test_each_built_in_class_declares_itself(name: str) -> None:
    """Under its name in the registry, typed, before there is a key; a key has a variable."""
    adapter_class = registry.load_adapter("search", name)
    assert isinstance(adapter_class.info, ProviderInfo)
    info = read_info(adapter_class)
    assert info.name == name
    assert not info.has_key
    assert info.key_variable or not info.needs_key


def test_a_built_in_adapter_is_told_apart_by_key_and_address() -> None:
    """Its source differs with both and shows no key; what depends on more says so."""
    infos = [
        describe(SerperSearch(api_key=KEY)).info,
        describe(SerperSearch(api_key=KEY + "2")).info,
        describe(SerperSearch(api_key=KEY, base_url="https://proxy.example")).info,
    ]
    assert len({info.source for info in infos}) == len(infos)
    assert all(info.has_key and KEY not in repr(info) for info in infos)
    google = describe(GoogleSearchAdapter(api_key=KEY, search_engine_id="cx-1")).info
    assert google.cache_identity == f"{google.source}&cx=cx-1"


def test_wrapped_objects_declare_themselves() -> None:
    """A LangChain tool has its name alone; ddgs limits, which are the same for everybody."""

    @tool
    def wiki(query: str) -> str:
        """Search a wiki."""
        return query

    assert describe(LangChainSearch(wiki)).info == ProviderInfo(name="wiki")
    assert read_info(DdgsSearch).source == "ddgs"


def test_an_adapter_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second look costs a look-up: nothing is asked of the adapter."""
    reads: list[str] = []

    class Counting(Searcher):
        @property
        def source(self) -> str:
            reads.append("source")
            return "counted"

    adapter = Counting()
    assert describe(adapter).info is describe(adapter).info
    assert len(reads) == 1


def test_a_described_adapter_is_forgotten_with_its_last_user() -> None:
    """Describing keeps no adapter alive, and leaves nothing behind."""
    adapter: Any = Searcher()
    gone, key = weakref.ref(adapter), id(adapter)
    described: Any = describe(adapter)
    assert described.search.count_keyword == "max_results"
    assert key in description._known
    del adapter, described
    gc.collect()
    assert gone() is None
    assert key not in description._known


class Slotted:
    """Can neither be referred to weakly nor take an attribute."""

    __slots__ = ("page_size",)
    provider_name = "slotted"

    def __init__(self, page_size: int) -> None:
        self.page_size = page_size

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        return SearchAdapterResponse(results=[], status_code=200)


@dataclass
class Equal(Searcher):
    """Equal to others and not hashable."""

    source: str = "one"


@dataclass(frozen=True)
class EqualButForItsKey(Searcher):
    """Equal to one with another key."""

    source: str = ""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


def test_odd_objects_are_described_as_well() -> None:
    """Without weak references, without a hash, and equal to another with a different source."""
    assert [describe(Slotted(n)).info.page_size for n in (3, 4)] == [3, 4]
    assert describe(Equal()).info.source == "one"
    one, other = EqualButForItsKey("one"), EqualButForItsKey("other")
    assert [describe(each).info.source for each in (one, other, one)] == ["one", "other", "one"]


def test_a_source_can_be_given() -> None:
    """To an adapter that says nothing of it; one that has a source, or none by will, keeps it."""
    adapter: Any = Searcher()
    assert describe(adapter).info.source is None
    assert give_source(adapter, "given")
    assert describe(adapter).info.source == adapter.source == "given"
    assert give_source(adapter, "another")
    assert describe(adapter).info.source == "given"
    assert not give_source(Slotted(1), "given")
    without = type("Without", (Searcher,), {"source": None})()
    assert give_source(without, "given")
    assert describe(without).info.source is None


def test_the_end_of_an_api_is_said() -> None:
    """Before the day as a plan, from the day on as a fact."""
    info = ProviderInfo(name="old", title="Old", ends_on=date(2027, 1, 1))
    assert info.sunset(date(2026, 12, 31)) == "Old ends on 2027-01-01: plan for another provider."
    assert info.sunset(date(2027, 1, 1)) == "Old was to end on 2027-01-01: use another provider."
    assert ProviderInfo(name="new").sunset(date(2027, 1, 1)) is None


def test_settings_are_found_by_the_declared_name() -> None:
    """A provider's rate and quota in the settings count for an adapter that offers `info`."""
    from collection_search.settings.adapter_factory import access_of

    settings = Settings(providers={"declared": {"rate_per_s": 3}})
    assert access_of(settings, Declaring("abc")).rate_per_s == 3
