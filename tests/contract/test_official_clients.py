"""The vendors' own clients read the doubles, so that the doubles are right as well."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.adapters.search.exa import ExaSearch
from collection_search.adapters.search.linkup import LinkupSearch
from collection_search.adapters.search.perplexity import PerplexitySearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.contracts.options import SearchOptions
from collection_search.testing import ProviderServer
from collection_search.testing.providers.sample_index import find_hits
from collection_search.testing.providers.wire import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

QUERY = "How does asyncio work?"
UNKNOWN = "qzxv jwkpf vbnqx"
PATIENCE_S = 30


def expected(count: int, *, site: str = "") -> list[tuple[str, str]]:
    pages = [page for page in find_hits(QUERY) if page.host.endswith(site)]
    return [(page.url, page.title) for page in pages[:count]]


WISH = SearchOptions(
    search_depth="deep",
    include_domains=("docs.example.org",),
    domain_mode="restrict",
    topic="news",
    include_content=True,
    freshness="2026-02-01..2026-02-28",
    language="de",
    country="DE",
)


def assert_same_options(server: ProviderServer, adapter: Any, *more: str) -> None:
    """The adapter's request says all that the client's does, but for `more` in the client's."""
    adapter.search(QUERY, max_results=10, timeout=PATIENCE_S, options=WISH)
    client, ours = server.requests
    assert server.refused == []
    assert server.dialect.options(client) == server.dialect.options(ours)
    given = {key: value for key, value in client.body.items() if value is not None}
    assert {key: given[key] for key in given.keys() - set(more)} == {
        key: ours.body[key] for key in ours.body.keys() - set(more)
    }


class TestTavily:
    """`TavilyClient(api_base_url=...)`, and its asynchronous sister."""

    @pytest.fixture
    def server(self) -> Iterator[ProviderServer]:
        with ProviderServer("tavily") as running:
            yield running

    @pytest.fixture
    def tavily(self) -> Any:
        return pytest.importorskip("tavily")

    @pytest.fixture
    def client(self, server: ProviderServer, tavily: Any) -> Iterator[Any]:
        with tavily.TavilyClient(api_key=KEY, api_base_url=server.base_url) as client:
            yield client

    def test_rows(self, client, server):
        """With scores from best to worst, texts where asked for, and what it cost."""
        answer = client.search(
            QUERY,
            max_results=7,
            search_depth="advanced",
            include_domains=["docs.example.org"],
            include_raw_content="markdown",
            include_usage=True,
        )
        rows = answer["results"]
        assert [(row["url"], row["title"]) for row in rows] == expected(7, site="docs.example.org")
        assert rows[0]["raw_content"].endswith(find_hits(QUERY)[0].snippet)
        assert answer["usage"] == {"credits": 2}
        assert server.refused == []

    def test_options(self, client, server):
        """The client's own names and values are those of the adapter."""
        client.search(
            QUERY,
            max_results=10,
            search_depth="advanced",
            topic="news",
            include_domains=["docs.example.org"],
            include_domains_mode="restrict",
            include_raw_content="markdown",
            start_date="2026-02-01",
            end_date="2026-02-28",
            language="de",
            filter_by_language=True,
        )
        adapter = TavilySearch(api_key=KEY, base_url=server.base_url)
        assert_same_options(server, adapter, "timeout")

    def test_rows_awaited(self, server, tavily):
        async def search() -> Any:
            async with tavily.AsyncTavilyClient(
                api_key=KEY, api_base_url=server.base_url
            ) as client:
                return await client.search(QUERY, max_results=3)

        rows = asyncio.run(search())["results"]
        assert [(row["url"], row["title"]) for row in rows] == expected(3)

    def test_nothing_found(self, client):
        assert client.search(UNKNOWN)["results"] == []

    def test_without_a_key(self, server, tavily):
        """The header of the keyless mode is accepted, its limit is understood."""
        with tavily.TavilyClient(api_base_url=server.base_url) as client:
            assert len(client.search(QUERY)["results"]) == 5
            server.fail("throttled_keyless")
            with pytest.raises(tavily.TavilyKeylessLimitError) as caught:
                client.search(QUERY)
        assert caught.value.retry_after_seconds == 12
        assert caught.value.window == "minute"

    @pytest.mark.parametrize(
        ("failure", "error"),
        [
            ("key_refused", "InvalidAPIKeyError"),
            ("throttled", "UsageLimitExceededError"),
            ("query_too_long", "BadRequestError"),
            ("plan_used_up", "ForbiddenError"),
            ("pay_as_you_go_used_up", "ForbiddenError"),
        ],
    )
    def test_errors(self, client, server, failure, error):
        """The client finds the sentence in the body."""
        errors = pytest.importorskip("tavily.errors")
        body = server.fail(failure).reply.body.decode()
        with pytest.raises(getattr(errors, error)) as caught:
            client.search(QUERY)
        assert str(caught.value)
        assert str(caught.value) in body

    def test_a_wrong_key(self, server, tavily):
        """Checked by the double itself."""
        with (
            tavily.TavilyClient(api_key="tvly-wrong", api_base_url=server.base_url) as client,
            pytest.raises(tavily.InvalidAPIKeyError),
        ):
            client.search(QUERY)


class TestExa:
    """`Exa(base_url=...)`."""

    @pytest.fixture
    def server(self) -> Iterator[ProviderServer]:
        with ProviderServer("exa") as running:
            yield running

    @pytest.fixture
    def client(self, server: ProviderServer) -> Any:
        exa = pytest.importorskip("exa_py")
        return exa.Exa(KEY, base_url=server.base_url, timeout=PATIENCE_S)

    @pytest.mark.slow
    def test_rows(self, client, server):
        """Texts, dates and costs arrive; there is no score."""
        answer = client.search(
            QUERY,
            num_results=25,
            type="auto",
            include_domains=["docs.example.org", "blog.example.com"],
            contents={"text": True, "highlights": True},
        )
        assert [(row.url, row.title) for row in answer.results] == expected(25)
        best = answer.results[0]
        assert best.published_date == "2026-03-02T09:30:00.000Z"
        assert best.text.endswith(find_hits(QUERY)[0].snippet)
        assert best.highlights == [find_hits(QUERY)[0].snippet]
        assert {row.score for row in answer.results} == {None}
        assert {row.published_date is None for row in answer.results} == {False, True}
        assert answer.cost_dollars.total == 0.007
        assert server.refused == []

    @pytest.mark.slow
    def test_options(self, client, server):
        """The client's own names and values are those of the adapter."""
        client.search(
            QUERY,
            num_results=10,
            type="deep",
            category="news",
            include_domains=["docs.example.org"],
            start_published_date="2026-02-01T00:00:00.000Z",
            end_published_date="2026-02-28T23:59:59.999Z",
            user_location="DE",
            contents={"text": True, "highlights": True},
        )
        assert_same_options(server, ExaSearch(api_key=KEY, base_url=server.base_url))

    def test_rows_without_contents(self, client):
        """A search may leave the texts out."""
        answer = client.search(QUERY, contents=False)
        assert len(answer.results) == 10
        assert {row.text for row in answer.results} == {None}

    def test_rows_awaited(self, server):
        exa = pytest.importorskip("exa_py")

        async def search() -> Any:
            client = exa.AsyncExa(KEY, api_base=server.base_url)
            try:
                return await client.search(QUERY, num_results=3)
            finally:
                await client.client.aclose()

        rows = asyncio.run(search()).results
        assert [(row.url, row.title) for row in rows] == expected(3)

    def test_nothing_found(self, client):
        assert client.search(UNKNOWN).results == []

    @pytest.mark.parametrize(
        ("failure", "status", "tag"),
        [
            ("key_refused", 401, "INVALID_API_KEY"),
            ("no_credit", 402, "NO_MORE_CREDITS"),
            ("throttled", 429, "rate limit"),
        ],
    )
    def test_errors(self, client, server, failure, status, tag):
        """The client has no classes for them: it tells status and body."""
        server.fail(failure)
        with pytest.raises(ValueError, match=f"status code {status}.*{tag}"):
            client.search(QUERY)

    def test_a_timeout_is_typed(self, client, server):
        """A server that says nothing."""
        errors = pytest.importorskip("exa_py.errors")
        server.fail("held")
        with pytest.raises(errors.ExaTimeoutError):
            client.search(QUERY, timeout=0.1)


class TestLinkup:
    """`LinkupClient(base_url=...)`, which includes the version."""

    @pytest.fixture
    def server(self) -> Iterator[ProviderServer]:
        with ProviderServer("linkup") as running:
            yield running

    @pytest.fixture
    def linkup(self) -> Any:
        return pytest.importorskip("linkup")

    @pytest.fixture
    def client(self, server: ProviderServer, linkup: Any) -> Any:
        return linkup.LinkupClient(api_key=KEY, base_url=f"{server.base_url}/v1")

    def test_rows(self, client, server, linkup):
        """As objects of the client's strict model."""
        answer = client.search(
            QUERY,
            depth="standard",
            output_type="searchResults",
            max_results=25,
            exclude_domains=["spam.example.com"],
            from_date="2026-01-01",
            timeout=PATIENCE_S,
        )
        assert isinstance(answer, linkup.LinkupSearchResults)
        assert {type(row) for row in answer.results} == {linkup.LinkupSearchTextResult}
        assert [(row.url, row.name) for row in answer.results] == expected(25)
        assert server.refused == []

    def test_options(self, client, server):
        """The client's own names and values are those of the adapter."""
        client.search(
            QUERY,
            depth="deep",
            output_type="searchResults",
            max_results=10,
            include_domains=["docs.example.org"],
            from_date="2026-02-01",
            to_date="2026-02-28",
            timeout=PATIENCE_S,
        )
        assert_same_options(server, LinkupSearch(api_key=KEY, base_url=server.base_url))

    def test_rows_awaited(self, client):
        answer = asyncio.run(
            client.async_search(
                QUERY, depth="deep", output_type="searchResults", timeout=PATIENCE_S
            )
        )
        assert [(row.url, row.name) for row in answer.results] == expected(10)

    def test_nothing_found_is_an_error_to_it(self, client, linkup):
        """What adapters have to take for an empty list."""
        with pytest.raises(linkup.LinkupNoResultError):
            client.search(
                UNKNOWN, depth="standard", output_type="searchResults", timeout=PATIENCE_S
            )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("failure", "error"),
        [
            ("key_refused", "LinkupAuthenticationError"),
            ("address_not_allowed", "LinkupIpNotWhitelistedError"),
            ("throttled", "LinkupTooManyRequestsError"),
            ("queue_full", "LinkupTasksQueueLimitExceededError"),
            ("no_credit", "LinkupInsufficientCreditError"),
            ("budget_used_up", "LinkupBudgetLimitExceededError"),
            ("payment_asked_for", "LinkupPaymentRequiredError"),
            ("invalid_parameter", "LinkupInvalidRequestError"),
            ("deadline_exceeded", "LinkupRequestDeadlineExceededError"),
        ],
    )
    def test_errors(self, client, server, linkup, failure, error):
        """Each has a class, chosen by status and code."""
        server.fail(failure)
        with pytest.raises(getattr(linkup, error)):
            client.search(QUERY, depth="standard", output_type="searchResults", timeout=PATIENCE_S)

    def test_a_wrong_key(self, server, linkup):
        """Checked by the double itself."""
        client = linkup.LinkupClient(api_key="wrong", base_url=f"{server.base_url}/v1")
        with pytest.raises(linkup.LinkupAuthenticationError):
            client.search(QUERY, depth="standard", output_type="searchResults", timeout=PATIENCE_S)


class TestPerplexity:
    """`Perplexity(base_url=...)`, without its own retries."""

    @pytest.fixture
    def server(self) -> Iterator[ProviderServer]:
        with ProviderServer("perplexity") as running:
            yield running

    @pytest.fixture
    def perplexity(self) -> Any:
        return pytest.importorskip("perplexity")

    @pytest.fixture
    def client(self, server: ProviderServer, perplexity: Any) -> Iterator[Any]:
        with perplexity.Perplexity(
            api_key=KEY,
            base_url=server.base_url,
            max_retries=0,
            timeout=PATIENCE_S,
            _strict_response_validation=True,
        ) as client:
            yield client

    @pytest.mark.slow
    def test_rows(self, client, server):
        """Under strict validation of the client's model."""
        answer = client.search.create(
            query=QUERY,
            max_results=20,
            search_domain_filter=["-spam.example.com"],
            search_recency_filter="year",
            search_mode="web",
        )
        assert [(row.url, row.title) for row in answer.results] == expected(20)
        assert answer.results[0].date == "2026-03-02"
        assert {row.date is None for row in answer.results} == {False, True}
        assert server.refused == []

    @pytest.mark.slow
    def test_options(self, client, server):
        """The client's own names and values are those of the adapter."""
        client.search.create(
            query=QUERY,
            max_results=10,
            search_context_size="high",
            search_domain_filter=["docs.example.org"],
            search_after_date_filter="02/01/2026",
            search_before_date_filter="02/28/2026",
            search_language_filter=["de"],
            country="DE",
        )
        assert_same_options(server, PerplexitySearch(api_key=KEY, base_url=server.base_url))

    @pytest.mark.slow
    def test_rows_awaited(self, server, perplexity):
        async def search() -> Any:
            async with perplexity.AsyncPerplexity(
                api_key=KEY, base_url=server.base_url, max_retries=0, timeout=PATIENCE_S
            ) as client:
                return await client.search.create(query=QUERY, max_results=3)

        rows = asyncio.run(search()).results
        assert [(row.url, row.title) for row in rows] == expected(3)

    def test_nothing_found(self, client):
        assert client.search.create(query=UNKNOWN).results == []

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("failure", "error", "kind"),
        [
            ("key_refused", "AuthenticationError", "invalid_api_key"),
            ("quota_used_up", "AuthenticationError", "insufficient_quota"),
            ("forbidden", "PermissionDeniedError", "permission_denied"),
            ("throttled", "RateLimitError", "rate_limit_exceeded"),
            ("invalid_parameter", "BadRequestError", "invalid_request"),
            ("server_error", "InternalServerError", None),
            ("key_refused_at_the_edge", "AuthenticationError", None),
            ("invalid_list", "UnprocessableEntityError", None),
        ],
    )
    def test_errors(self, client, server, failure, error, kind):
        """The class follows the status alone; the body says what it was."""
        server.fail(failure)
        with pytest.raises(getattr(pytest.importorskip("perplexity"), error)) as caught:
            client.search.create(query=QUERY)
        if kind:
            assert caught.value.body["error"]["type"] == kind

    def test_a_wrong_key(self, server, perplexity):
        """Checked by the double itself."""
        with (
            perplexity.Perplexity(
                api_key="wrong", base_url=server.base_url, max_retries=0
            ) as client,
            pytest.raises(perplexity.AuthenticationError),
        ):
            client.search.create(query=QUERY)
