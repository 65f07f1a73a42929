"""The contract for HTTP adapters notices what an adapter does wrong, one thing at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.adapters.search.brave import BraveSearch
from collection_search.contracts.options import SearchOptions
from collection_search.errors import SearchProviderError
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import HttpSearchAdapterContract, ProviderServer

if TYPE_CHECKING:
    from collection_search.contracts.search import SearchAdapterResponse


class Adapter:
    """A good adapter that a subclass spoils."""

    provider_name = "brave"
    page_size = 20

    def __init__(self, server: ProviderServer) -> None:
        self.key = server.dialect.key
        self.inner = BraveSearch(api_key=self.key, base_url=server.base_url)

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float = 30.0,  # noqa: ASYNC109 - the keyword of the port
        options: SearchOptions | None = None,
    ) -> SearchAdapterResponse:
        try:
            response = await self.inner.asearch(
                self.asked(query),
                max_results=max_results,
                timeout=timeout,
                options=self.wished(options),
            )
        except SearchProviderError as error:
            self.spoil_error(error)
            raise
        return self.spoiled(response)

    def search(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float = 30.0,
        options: SearchOptions | None = None,
    ) -> SearchAdapterResponse:
        return run_blocking(
            self.asearch(query, max_results=max_results, timeout=timeout, options=options)
        )

    def asked(self, query: str) -> str:
        return query

    def wished(self, options: SearchOptions | None) -> SearchOptions | None:
        return options

    def spoiled(self, response: SearchAdapterResponse) -> SearchAdapterResponse:
        return response

    def spoil_error(self, error: SearchProviderError) -> None:
        pass


class Untyped(Adapter):
    def spoil_error(self, error):
        raise RuntimeError(str(error))


class Talkative(Adapter):
    def spoil_error(self, error):
        error.args = (f"{error} ?key={self.key}",)


class Stubborn(Adapter):
    def spoil_error(self, error):
        error.retryable = True


class Deaf(Adapter):
    def spoil_error(self, error):
        error.retry_in_ms = None


class Vague(Adapter):
    def spoil_error(self, error):
        error.args = ("It failed.",)


class Miscounting(Adapter):
    def spoiled(self, response):
        return replace(response, request_count=1)


class Repeating(Adapter):
    def spoiled(self, response):
        return replace(response, results=[*response.results, *response.results[:1]])


class Shuffling(Adapter):
    def spoiled(self, response):
        return replace(response, results=response.results[::-1])


class Silent(Adapter):
    def spoiled(self, response):
        return replace(response, notices=())


class Cleaning(Adapter):
    """Cleans what the worker cleans once more."""

    def spoiled(self, response):
        for row in response.results:
            row.snippet = row.snippet.replace("&lt;", "<").replace("&gt;", ">")
        return response


class Cutting(Adapter):
    def asked(self, query):
        return query[:395]


class Quoting(Adapter):
    def asked(self, query):
        return query.replace("&", "and")


class Forgetful(Adapter):
    """A loop, and so a connection, for each call."""

    async def asearch(self, query, **options):
        return await asyncio.to_thread(asyncio.run, super().asearch(query, **options))


class OneFaced(Adapter):
    def search(self, query, *, max_results, timeout=30.0):
        return replace(super().search(query, max_results=max_results), results=[])


class Boastful(Adapter):
    """Claims what is not asked for."""

    def spoiled(self, response):
        return replace(response, applied={**response.applied, "search_depth": "native"})


class Inattentive(Adapter):
    """Claims what it does not send."""

    def spoiled(self, response):
        return replace(response, applied={"topic": "emulated", "language": "native"})

    def wished(self, options):
        return None


class Secretive(Adapter):
    """Sends what it does not tell."""

    def spoiled(self, response):
        return replace(response, applied={})


class Presumptuous(Adapter):
    """Sends what nobody asked for."""

    def wished(self, options):
        return options and options.model_copy(update={"freshness": "year"})


class Generous(Adapter):
    """Gives texts unasked."""

    def spoiled(self, response):
        return replace(response, results=[replace(row, content="x") for row in response.results])


class Overpriced(Adapter):
    def spoiled(self, response):
        return replace(response, credits=2)


class Broken(HttpSearchAdapterContract):
    """The suite on an adapter that does one thing wrong."""

    def __init__(self, server: ProviderServer, adapter: type[Adapter]) -> None:
        self.running = server
        self.kind = adapter

    def adapter_for(self, server: ProviderServer) -> Any:
        return self.kind(server)


RULES: list[tuple[type[Adapter], str, dict[str, Any]]] = [
    (Untyped, "a_failure_is_a_typed_error", {"failure": "quota_used_up"}),
    (Untyped, "the_worker_retries_as_the_failure_allows", {"failure": "reset", "method": "run"}),
    (Talkative, "a_failure_is_a_typed_error", {"failure": "throttled"}),
    (Stubborn, "a_failure_is_a_typed_error", {"failure": "quota_used_up"}),
    (
        Stubborn,
        "the_worker_retries_as_the_failure_allows",
        {"failure": "invalid_parameter", "method": "arun"},
    ),
    (Deaf, "a_failure_is_a_typed_error", {"failure": "throttled"}),
    (Deaf, "retry_after_is_understood", {"failure_with_a_hint": "overloaded", "form": "seconds"}),
    (Vague, "a_failure_is_a_typed_error", {"failure": "token_refused"}),
    (Miscounting, "further_pages_are_fetched_if_asked_for", {}),
    (Repeating, "further_pages_are_fetched_if_asked_for", {}),
    (Shuffling, "rows_are_mapped", {}),
    (Silent, "a_failing_further_page_leaves_what_was_found", {}),
    (Cleaning, "markup_is_taken_out_once", {}),
    (Cutting, "a_long_query_is_cut_between_words", {"words": "asyncio "}),
    (Quoting, "the_query_arrives_as_it_is", {}),
    (Forgetful, "connections_are_kept", {}),
    (OneFaced, "the_coroutine_finds_the_same", {}),
    (Boastful, "what_is_claimed_is_asked_for", {"case": "deep"}),
    (Inattentive, "what_is_claimed_is_asked_for", {"case": "news"}),
    (Secretive, "what_is_claimed_is_asked_for", {"case": "one_site"}),
    (Presumptuous, "what_is_not_asked_changes_nothing", {"options": SearchOptions()}),
    (Generous, "what_is_not_asked_changes_nothing", {"options": SearchOptions()}),
    (Generous, "contents_come_when_they_are_asked_for", {}),
    (Secretive, "many_domains_leave_room_for_the_query", {"name": "exclude_domains", "count": 2}),
    (Overpriced, "a_deep_search_costs_more_where_it_is_one", {}),
    (Shuffling, "the_rows_are_those_that_the_vendor_chose", {"case": "week"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "rule", "arguments"), RULES, ids=[f"{each[0].__name__}-{each[1]}" for each in RULES]
)
def test_the_contract_catches(caplog, adapter, rule, arguments):
    """Each rule fails for an adapter that breaks it, and holds for the one that does not."""
    if "failure" in arguments:
        arguments = {**arguments, "caplog": caplog}
    with ProviderServer("brave") as server:
        getattr(Broken(server, Adapter), f"test_{rule}")(**arguments)
    with ProviderServer("brave") as server, pytest.raises(AssertionError):
        getattr(Broken(server, adapter), f"test_{rule}")(**arguments)


def test_the_suite_runs_once_for_each_failure():
    """A third party's own errors are tried as well."""
    tried: dict[str, list[str]] = {}

    class Collecting:
        fixturenames = ("failure", "form")

        def parametrize(self, name: str, values: list[str]) -> None:
            tried[name] = values

    class Suite(HttpSearchAdapterContract):
        def server(self) -> ProviderServer:
            return ProviderServer("tavily")

    Suite().pytest_generate_tests(Collecting())  # type: ignore[arg-type]
    assert {"plan_used_up", "too_many_requests", "gzip_bomb"} <= set(tried["failure"])
    assert {"date_past", "garbage"} <= set(tried["form"])
    assert "gateway_failure" not in tried
