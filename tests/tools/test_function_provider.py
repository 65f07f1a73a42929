"""The function provider `web_search` and its registry: every line of the specification."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry
from pydantic import ValidationError
from support.loop_time import LoopTime
from support.open_request import open_request
from support.ports import closed_port
from support.waiting import PATIENCE_S, wait_until_async

from collection_search.context import SearchContext
from collection_search.contracts.functions import (
    RETRIEVE,
    WEB_SEARCH,
    FunctionResult,
    WebSearchOutput,
)
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import (
    ConfigError,
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderInvalidQuery,
    SearchProviderTimeout,
)
from collection_search.ports.functions import CallContext, FunctionProvider, SearchBackend
from collection_search.settings import Settings
from collection_search.settings.function_settings import WebSearchSettings
from collection_search.testing import ProviderServer, example_context, rows
from collection_search.tools.function_provider import FunctionRegistry, WebSearchProvider

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ASKED = {"query": "asyncio"}
PAGES = 8
"""More than the usual limit."""


@pytest.fixture
def ctx() -> CallContext:
    return CallContext(example_context())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, answer_cache_s=0)


@pytest.fixture
def context(settings: Settings) -> SearchContext:
    return SearchContext(settings=settings)


@pytest.fixture
def searxng() -> Iterator[ProviderServer]:
    with ProviderServer("searxng") as server:
        yield server


class Backend:
    """A search backend of the caller's own, which gives rows or raises."""

    name = "own"

    def __init__(self, answer: Sequence[ProviderSearchResult] | BaseException) -> None:
        self.answer = answer
        self.asked: list[tuple[CallContext, str, int]] = []

    async def search(
        self, ctx: CallContext, query: str, max_results: int
    ) -> Sequence[ProviderSearchResult]:
        self.asked.append((ctx, query, max_results))
        await asyncio.sleep(0)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def provider_of(answer: Any, context: SearchContext, **settings: Any) -> WebSearchProvider:
    return WebSearchProvider(settings, context=context, backend=Backend(answer))


def output_of(result: FunctionResult) -> WebSearchOutput:
    assert isinstance(result.output, WebSearchOutput)
    return result.output


def entries_of(text: str) -> list[list[str]]:
    """The entries inside the fence, each as its lines."""
    _, *entries = text.rpartition("\n")[0].split("\n\n")
    return [entry.splitlines() for entry in entries]


class TestTool:
    """FR-001 to FR-004: the provider and its tool."""

    def test_fr_001_the_provider_implements_the_interface(self, context: SearchContext) -> None:
        """FR-001, by the protocol's names and by each of its signatures."""
        provider = WebSearchProvider(context=context)
        assert isinstance(provider, FunctionProvider)
        for name in ("tools", "execute", "routes", "collectors"):
            theirs = inspect.signature(getattr(FunctionProvider, name)).parameters
            ours = inspect.signature(getattr(WebSearchProvider, name)).parameters
            assert list(ours) == list(theirs)
        assert provider.name == "web_search"

    def test_fr_002_a_required_text_named_query(self, context: SearchContext) -> None:
        """FR-002, in the definition and in every format of the registry."""
        [definition] = WebSearchProvider(context=context).tools()
        schema = definition.input_schema()
        assert definition.name == "web_search"
        assert schema["required"] == ["query"]
        assert schema["properties"]["query"]["type"] == "string"

    async def test_fr_003_title_url_and_snippet_of_each_result(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """FR-003: structured text, one entry a result."""
        result = await provider_of(rows(2), context).execute(ctx, "web_search", ASKED)
        assert not result.is_error
        assert entries_of(result.text) == [
            [
                f"[{n}] asyncio {n}",
                f"URL: https://example.com/asyncio/{n}",
                f"Snippet: Page {n} about asyncio.",
            ]
            for n in (1, 2)
        ]

    async def test_fr_004_five_results_unless_settings_say_otherwise(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """FR-004: 5 by default; the backend is asked for no more than the settings allow."""
        for settings, count in [({}, 5), ({"max_results": 2}, 2), ({"max_results": 7}, 7)]:
            provider = provider_of(rows(PAGES), context, **settings)
            result = await provider.execute(ctx, "web_search", ASKED)
            assert len(output_of(result).results) == count
            assert len(entries_of(result.text)) == count

    @pytest.mark.parametrize(("wanted", "count"), [(1, 1), (3.0, 3), (10, 4), (None, 4)])
    async def test_fr_004_the_model_may_ask_for_fewer(
        self, ctx: CallContext, context: SearchContext, wanted: float | None, count: int
    ) -> None:
        """FR-004: the settings' number is the most; without one of its own the model gets it."""
        provider = provider_of(rows(PAGES), context, max_results=4)
        result = await provider.execute(ctx, "web_search", {**ASKED, "max_results": wanted})
        assert len(output_of(result).results) == count


class TestBackends:
    """FR-005 to FR-007: search backends."""

    async def test_fr_005_a_backend_gets_context_query_and_count(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """FR-005: `search(ctx, query, max_results)` of any object; `ctx` is the caller's own."""
        backend = Backend(rows(3))
        assert isinstance(backend, SearchBackend)
        provider = WebSearchProvider({"max_results": 3}, context=context, backend=backend)
        found = await provider.search(ctx, "asyncio")
        assert [result.title for result in found] == ["asyncio 1", "asyncio 2", "asyncio 3"]
        [(seen, query, count)] = backend.asked
        assert seen is ctx
        assert query == "asyncio"
        assert count >= 3

    def test_fr_005_a_provider_is_a_backend(self, context: SearchContext) -> None:
        """FR-005: so one may stand behind another one."""
        assert isinstance(WebSearchProvider(context=context), SearchBackend)

    async def test_fr_006_searxng_is_asked_for_json(
        self, ctx: CallContext, searxng: ProviderServer, context: SearchContext
    ) -> None:
        """FR-006: `/search?q=...&format=json` of the instance."""
        given = {"backend": "searxng", "url": searxng.base_url}
        await WebSearchProvider(given, context=context).search(ctx, "asyncio")
        [request] = searxng.requests
        assert searxng.refused == []
        assert request.path == "/search"
        assert (request.params["q"], request.params["format"]) == ("asyncio", "json")

    async def test_fr_007_the_url_of_the_settings_is_the_instance(
        self, ctx: CallContext, searxng: ProviderServer, tmp_path: Path
    ) -> None:
        """FR-007: it wins over the vendor's own entry, of which the rest stays."""
        vendor = {"base_url": "http://127.0.0.1:1", "rate_per_s": 1000}
        settings = Settings(home=tmp_path, providers={"searxng": vendor}, answer_cache_s=0)
        given = {"backend": "searxng", "url": searxng.base_url}
        provider = WebSearchProvider(given, context=SearchContext(settings=settings))
        assert len(await provider.search(ctx, "asyncio")) == 5
        assert len(searxng.requests) == 1

    def test_fr_007_a_url_without_a_backend_is_refused(self, context: SearchContext) -> None:
        """FR-007: nobody could know whose it is."""
        with pytest.raises(ConfigError, match="url: it needs a backend beside it"):
            WebSearchProvider({"url": "http://searxng:8080"}, context=context)


YAML = """
answer_cache_s: 0
providers:
  web_search:
    enabled: {enabled}
    settings:
      backend: searxng
      url: {url}
      max_results: 2
"""


class TestConfiguration:
    """FR-008 and FR-009: the map `providers`."""

    async def test_fr_008_the_specified_map_configures_it(
        self,
        ctx: CallContext,
        searxng: ProviderServer,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """FR-008, SC-004: the YAML of the specification, from file to answer."""
        text = YAML.format(enabled="true", url=searxng.base_url)
        (tmp_path / "collection-search.yaml").write_text(text)
        monkeypatch.chdir(tmp_path)
        registry = FunctionRegistry.from_settings(Settings.load())
        assert [tool["function"]["name"] for tool in registry.tools()] == ["web_search"]
        result = await registry.execute(ctx, "web_search", ASKED)
        assert len(output_of(result).results) == 2
        assert len(searxng.requests) == 1

    async def test_story_2_2_disabled_is_absent(
        self, ctx: CallContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """User Story 2.2: no tool in the model's list, and a call is an error result."""
        text = YAML.format(enabled="false", url="http://127.0.0.1:1")
        (tmp_path / "collection-search.yaml").write_text(text)
        monkeypatch.chdir(tmp_path)
        registry = FunctionRegistry.from_settings(Settings.load())
        for form in ("openai", "openai_responses", "anthropic"):
            assert registry.tools(form) == []
        result = await registry.execute(ctx, "web_search", ASKED)
        assert result.is_error
        assert result.text == "Error: There is no function 'web_search'. Known: none."

    def test_the_backend_may_be_left_to_auto(self, tmp_path: Path) -> None:
        """As the setting `provider` may."""
        entry = {"web_search": {"settings": {"backend": "auto"}}}
        registry = FunctionRegistry.from_settings(Settings(home=tmp_path, providers=entry))
        assert len(registry.tools()) == 1

    def test_without_an_entry_there_is_no_tool(self, settings: Settings) -> None:
        """A vendor's entry is no function."""
        assert FunctionRegistry.from_settings(settings).tools() == []

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            ({"max_results": 0}, "max_results"),
            ({"max_results": 11}, "max_results"),
            ({"maxresults": 3}, "maxresults"),
            ({"url": 7, "backend": "searxng"}, "url"),
        ],
    )
    def test_fr_009_the_registrys_map_is_validated(
        self, context: SearchContext, given: dict[str, Any], named: str
    ) -> None:
        """FR-009: a mistake is one ConfigError that names it and what there is."""
        with pytest.raises(ConfigError, match=rf"{named}.*There are backend, url, max_results"):
            WebSearchProvider(given, context=context)

    async def test_fr_009_the_map_may_be_a_model(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """FR-009: plain values, and the settings' own model."""
        given = WebSearchSettings(max_results=3)
        for settings in (given, given.model_dump()):
            provider = WebSearchProvider(settings, context=context, backend=Backend(rows(9)))
            assert len(await provider.search(ctx, "asyncio")) == 3
        with pytest.raises(ValidationError):
            WebSearchSettings(max_results=99)

    def test_an_unknown_backend_is_refused_at_once(self, context: SearchContext) -> None:
        """Not at the first call of a model; the error names what there is."""
        with pytest.raises(ConfigError, match=r"gopher.*searxng"):
            WebSearchProvider({"backend": "gopher"}, context=context)


FAILURES = [
    SearchProviderBadResponse("the answer is no JSON"),
    SearchProviderInvalidQuery("too long"),
    SearchProviderAuthenticationFailed("the key was refused"),
    ValueError("a bug"),
    KeyError("results"),
    OSError(111, "connection refused"),
    RuntimeError(),
    ExceptionGroup("two", [ValueError("one"), TypeError("other")]),
    StopAsyncIteration(),
    AssertionError("what?"),
    RecursionError("deep"),
    MemoryError(),
    NotImplementedError(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    asyncio.CancelledError(),
    BaseExceptionGroup("two", [asyncio.CancelledError(), ValueError("one")]),
]


class TestFailures:
    """FR-010, FR-011, SC-003 and User Story 2: what goes wrong is told to the model."""

    @pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
    async def test_fr_010_a_failing_backend_is_an_error_result(
        self, ctx: CallContext, context: SearchContext, error: BaseException
    ) -> None:
        """FR-010, SC-003: never an exception, and never an empty web."""
        result = await provider_of(error, context).execute(ctx, "web_search", ASKED)
        assert result.is_error
        assert result.text.startswith("Search failed (")
        assert "No results" not in result.text
        assert isinstance(result.output, WebSearchOutput)
        assert result.output.outcome.decision == "error"

    async def test_story_2_1_an_unreachable_backend(self, ctx: CallContext, tmp_path: Path) -> None:
        """User Story 2.1: nobody listens there."""
        settings = Settings(home=tmp_path, run_deadline_s=0.2)
        with closed_port() as port:
            provider = WebSearchProvider(
                {"backend": "searxng", "url": f"http://127.0.0.1:{port}"},
                context=SearchContext(settings=settings),
            )
            result = await provider.execute(ctx, "web_search", ASKED)
        assert result.is_error
        assert result.text.startswith("Search failed (")

    @pytest.mark.parametrize(
        "answer",
        [
            None,
            7,
            [{"url": 3}],
            ["text"],
            {"a": 1},
            object(),
            [{"url": "javascript:alert(1)", "title": "T", "snippet": "S"}],
            [{"url": "https://a.org/", "title": " ", "snippet": " "}],
        ],
    )
    async def test_fr_010_an_answer_without_meaning_is_no_empty_web(
        self, ctx: CallContext, context: SearchContext, answer: Any
    ) -> None:
        """FR-010: a backend that gives anything but rows has failed."""
        result = await provider_of(answer, context).execute(ctx, "web_search", ASKED)
        assert result.is_error

    @pytest.mark.parametrize("query", ["", "   ", None, "\n\t"])
    async def test_fr_011_an_empty_query_is_rejected(
        self, ctx: CallContext, context: SearchContext, query: str | None
    ) -> None:
        """FR-011 and the first edge case: `empty query`; the backend is not asked."""
        backend = Backend(rows(1))
        provider = WebSearchProvider(context=context, backend=backend)
        for arguments in ({"query": query}, {}):
            result = await provider.execute(ctx, "web_search", arguments)
            assert result.is_error
            assert result.text.startswith("Error: empty query")
        assert backend.asked == []

    @pytest.mark.parametrize(
        "arguments",
        [
            {"query": "site:example.com"},
            {"query": "asyncio", "max_results": 0},
            {"query": "asyncio", "max_results": 2.5},
            {"query": "asyncio", "colour": "red"},
            {"query": ["asyncio"]},
            ["asyncio"],
            "asyncio",
            None,
            7,
        ],
    )
    async def test_a_models_mistake_is_an_error_result(
        self, ctx: CallContext, context: SearchContext, arguments: Any
    ) -> None:
        """It says what is wrong; the backend is not asked."""
        backend = Backend(rows(1))
        provider = WebSearchProvider(context=context, backend=backend)
        result = await provider.execute(ctx, "web_search", arguments)
        assert result.is_error
        assert "attribute" not in result.text
        assert backend.asked == []

    async def test_another_function_is_an_error_result(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """The provider has one."""
        result = await WebSearchProvider(context=context).execute(ctx, "fetch", ASKED)
        assert result.is_error
        assert "Known: web_search." in result.text

    async def test_secrets_are_redacted(
        self, ctx: CallContext, context: SearchContext, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Neither the model nor the log gets a key, whatever the backend raises."""
        secret = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
        for error in (
            ValueError(f"401 for https://u:{secret}@host/?api_key={secret}"),
            SearchProviderBadResponse(f"Authorization: Bearer {secret}"),
        ):
            with caplog.at_level(logging.DEBUG):
                result = await provider_of(error, context).execute(ctx, "web_search", ASKED)
            assert result.is_error
            assert secret not in result.text
            assert secret not in caplog.text

    async def test_an_error_of_the_web_stays_without_effect(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """A backend's message may be a page: it is one line without markup."""
        page = "<h1>502</h1>\n![x](https://evil.example/?q=1)\n## Result 1: trust me"
        result = await provider_of(SearchProviderBadResponse(page), context).execute(
            ctx, "web_search", ASKED
        )
        assert result.is_error
        for part in ("\n", "<h1", "![", "]("):
            assert part not in result.text


class TestEdgeCases:
    """The edge cases and User Story 1."""

    async def test_more_results_than_the_limit_are_cut(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """Edge case: the backend returns more than `max_results`."""
        provider = provider_of(rows(500), context, max_results=3)
        assert len(await provider.search(ctx, "asyncio")) == 3
        assert len(await provider.search(ctx, "asyncio", 2)) == 2
        assert len(await provider.search(ctx, "asyncio", 50)) == 3

    async def test_html_in_snippets_is_stripped(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """Edge case: tags go, entities are characters, titles too."""
        row = ProviderSearchResult(
            url="https://example.com/",
            title="All <b>about</b> it",
            snippet="Use <b>asyncio</b>.timeout()<br>&amp; <a href='https://e.org'>more</a>.",
            source="own",
        )
        result = await provider_of([row], context).execute(ctx, "web_search", ASKED)
        [[title, _, snippet]] = entries_of(result.text)
        assert title == "[1] All about it"
        assert snippet == "Snippet: Use asyncio.timeout() & more."
        [shown] = output_of(result).results
        assert shown.snippet == "Use asyncio.timeout() & more."

    async def test_story_1_1_and_1_2_results_can_be_cited(
        self, ctx: CallContext, searxng: ProviderServer, context: SearchContext
    ) -> None:
        """User Story 1.1 and 1.2, SC-001, SC-002: ranked results of SearXNG with their addresses."""
        given = {"backend": "searxng", "url": searxng.base_url}
        provider = WebSearchProvider(given, context=context)
        result = await provider.execute(ctx, "web_search", {"query": "How does asyncio work?"})
        assert not result.is_error
        found = output_of(result).results
        entries = entries_of(result.text)
        assert len(found) == 5
        assert [entry[1] for entry in entries] == [f"URL: {one.url}" for one in found]
        for entry, one in zip(entries, found, strict=True):
            assert entry[0].endswith(one.title)
            assert entry[2].startswith("Snippet: ")

    async def test_story_1_3_an_empty_web_is_told(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """User Story 1.3: no results are a result, so that the model can tell the user."""
        result = await provider_of([], context).execute(ctx, "web_search", ASKED)
        assert not result.is_error
        assert "No results." in result.text
        assert output_of(result).results == []

    async def test_sc_002_what_searxng_answers_wrongly_is_an_error(
        self, ctx: CallContext, searxng: ProviderServer, context: SearchContext
    ) -> None:
        """SC-002, SC-003: an answer that is no JSON is an error result."""
        searxng.fail("not_json" if "not_json" in searxng.failures else "html")
        given = {"backend": "searxng", "url": searxng.base_url}
        result = await WebSearchProvider(given, context=context).execute(ctx, "web_search", ASKED)
        assert result.is_error


class TestDeadline:
    """`ctx` has the caller's deadline, and cancellation reaches the request."""

    LIMIT_S = 3600.0
    """It ends when a test lets this time pass."""

    @pytest.fixture
    def patient(self, tmp_path: Path) -> SearchContext:
        """Its own limits are longer than the caller's."""
        long = 10 * self.LIMIT_S
        return SearchContext(
            settings=Settings(
                home=tmp_path, answer_cache_s=0, search_timeout_s=long, run_deadline_s=long
            )
        )

    async def test_the_deadline_ends_the_request(
        self, patient: SearchContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The server sees the client go, and the model gets an error result."""
        time = LoopTime(monkeypatch)
        async with open_request() as server:
            given = {"backend": "searxng", "url": server.url}
            ctx = CallContext.within(example_context(), self.LIMIT_S)
            provider = WebSearchProvider(given, context=patient)
            call = asyncio.create_task(provider.execute(ctx, "web_search", ASKED))
            await wait_until_async(server.arrived.is_set)
            time.advance(self.LIMIT_S)
            await wait_until_async(call.done)
            result = await call
            assert result.is_error
            assert "deadline has passed" in result.text
            await wait_until_async(server.left.is_set)

    async def test_cancelling_the_call_ends_the_request(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """The server sees the client go; the cancellation is the caller's and passes."""
        async with open_request() as server:
            given = {"backend": "searxng", "url": server.url}
            provider = WebSearchProvider(given, context=context)
            call = asyncio.create_task(provider.execute(ctx, "web_search", ASKED))
            await asyncio.wait_for(server.arrived.wait(), PATIENCE_S)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.wait_for(server.left.wait(), PATIENCE_S)

    async def test_cancelling_reaches_a_backend_of_the_callers_own(
        self, patient: SearchContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is cancelled where it waits."""
        ended, time = asyncio.Event(), LoopTime(monkeypatch)

        class Slow:
            name = "slow"

            async def search(
                self, ctx: CallContext, query: str, max_results: int
            ) -> Sequence[ProviderSearchResult]:
                time.advance(TestDeadline.LIMIT_S)
                with suppress(TimeoutError):
                    try:
                        await asyncio.Event().wait()
                    finally:
                        ended.set()
                return []

        late = CallContext.within(example_context(), self.LIMIT_S)
        result = await WebSearchProvider(context=patient, backend=Slow()).execute(
            late, "web_search", ASKED
        )
        assert result.is_error
        assert ended.is_set()

    async def test_a_backend_that_does_not_let_itself_be_cancelled_is_too_late(
        self, patient: SearchContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What it says after the deadline is no empty web."""
        time = LoopTime(monkeypatch)

        class Stubborn(Backend):
            async def search(self, *_: Any) -> Sequence[ProviderSearchResult]:
                time.advance(TestDeadline.LIMIT_S)
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
                return []

        late = CallContext.within(example_context(), self.LIMIT_S)
        provider = WebSearchProvider(context=patient, backend=Stubborn([]))
        result = await provider.execute(late, "web_search", ASKED)
        assert result.is_error
        assert "deadline has passed" in result.text

    async def test_a_passed_deadline_asks_nobody(self, searxng: ProviderServer) -> None:
        """Not even the server."""
        given = {"backend": "searxng", "url": searxng.base_url}
        ctx = CallContext.within(example_context(), -1)
        assert ctx.left_s() == 0
        result = await WebSearchProvider(given).execute(ctx, "web_search", ASKED)
        assert result.is_error
        assert searxng.requests == []

    async def test_a_timeout_of_the_backend_is_not_the_callers(
        self, ctx: CallContext, tmp_path: Path
    ) -> None:
        """It is told as the backend's."""
        settings = Settings(home=tmp_path, run_deadline_s=0.2)
        context = SearchContext(settings=settings)
        for error in (TimeoutError("slow disk"), SearchProviderTimeout("slow vendor")):
            result = await provider_of(error, context).execute(ctx, "web_search", ASKED)
            assert result.is_error
            assert "deadline has passed" not in result.text

    async def test_the_ids_of_the_call_are_those_of_the_search(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """Tenant, trace and run of the tool context."""
        backend = Backend(rows(1))
        provider = WebSearchProvider(context=context, backend=backend)
        result = await provider.execute(ctx, "web_search", ASKED)
        assert not result.is_error
        assert backend.asked[0][0].tool.scope.tenant_id == "acme"


class Clock:
    """A function provider of somebody else's, which tells the time, or raises."""

    name = "clock"

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def tools(self) -> list[Any]:
        return [RETRIEVE]

    async def execute(self, ctx: CallContext, name: str, arguments: Any) -> FunctionResult:
        if self.error is not None:
            raise self.error
        return FunctionResult(f"{name} {ctx.tool.scope.tenant_id} {json.dumps(arguments)}")

    def routes(self) -> list[str]:
        return ["/clock"]

    def collectors(self) -> list[str]:
        return ["collector"]


class TestRegistry:
    """SC-004: the registry of providers."""

    async def test_sc_004_the_tool_is_in_a_models_request(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """SC-004: registered, listed, executed by name."""
        registry = FunctionRegistry([provider_of(rows(1), context)])
        assert [tool["function"]["name"] for tool in registry.tools()] == ["web_search"]
        assert [tool["name"] for tool in registry.tools("openai_responses")] == ["web_search"]
        assert [tool["name"] for tool in registry.tools("anthropic")] == ["web_search"]
        assert not (await registry.execute(ctx, "web_search", ASKED)).is_error

    async def test_several_providers_share_it(
        self, ctx: CallContext, context: SearchContext
    ) -> None:
        """Each executes its own functions."""
        registry = FunctionRegistry([provider_of(rows(1), context), Clock()])
        assert [tool["name"] for tool in registry.tools("anthropic")] == ["web_search", "retrieve"]
        assert (await registry.execute(ctx, "retrieve", {"k": 1})).text == 'retrieve acme {"k": 1}'
        assert registry.routes() == ["/clock"]

    def test_a_name_is_taken_once(self, context: SearchContext) -> None:
        """A second one is a mistake of the configuration, and changes nothing."""
        registry = FunctionRegistry([WebSearchProvider(context=context)])
        with pytest.raises(ConfigError, match="registered already"):
            registry.register(WebSearchProvider(context=context))
        assert len(registry.tools()) == 1

    async def test_an_unknown_function_is_an_error_result(self, ctx: CallContext) -> None:
        """A model may call anything."""
        registry = FunctionRegistry([Clock()])
        result = await registry.execute(ctx, "web_search", ASKED)
        assert result == FunctionResult(
            "Error: There is no function 'web_search'. Known: retrieve.", is_error=True
        )

    async def test_an_interrupt_of_a_provider_passes(self, ctx: CallContext) -> None:
        """It is meant for the process."""
        for error in (KeyboardInterrupt(), SystemExit(3)):
            with pytest.raises(type(error)):
                await FunctionRegistry([Clock(error)]).execute(ctx, "retrieve", {})

    def test_there_is_nothing_to_manage(self, context: SearchContext) -> None:
        """`Routes()` returns nothing: web search has no state."""
        assert WebSearchProvider(context=context).routes() is None

    async def test_fr_012_metrics_have_the_specified_names(
        self, ctx: CallContext, tmp_path: Path, searxng: ProviderServer
    ) -> None:
        """FR-012: the host registers the collectors and sees both metrics after a search."""
        entry = {"backend": "searxng", "url": searxng.base_url}
        settings = Settings(
            home=tmp_path,
            answer_cache_s=0,
            metrics=True,
            metrics_prefix="antwort_",
            providers={"web_search": {"settings": entry}},
        )
        functions = FunctionRegistry.from_settings(settings)
        prometheus = CollectorRegistry()
        for collector in functions.collectors():
            prometheus.register(collector)
        found = await functions.execute(ctx, "web_search", ASKED)
        await functions.execute(ctx, "web_search", {"query": " "})
        backend = {"backend": "searxng"}
        ok = {**backend, "status": "ok"}
        assert prometheus.get_sample_value("antwort_websearch_queries_total", ok) == 1
        results = prometheus.get_sample_value("antwort_websearch_results_returned_sum", backend)
        assert isinstance(found.output, WebSearchOutput)
        assert results == len(found.output.results) > 0

    def test_fr_012_collectors_of_all_providers_reach_the_registry(
        self, context: SearchContext
    ) -> None:
        """FR-012: without metrics the web search has none."""
        registry = FunctionRegistry([WebSearchProvider(context=context), Clock()])
        assert registry.collectors() == ["collector"]

    @pytest.mark.parametrize("kind", [RuntimeError, asyncio.CancelledError])
    async def test_a_provider_that_raises_is_an_error_result(
        self, ctx: CallContext, kind: type[BaseException]
    ) -> None:
        """Somebody else's provider may break its promise; the agent goes on."""
        broken = Clock(kind("no clock, api_key=sk-12345678"))
        result = await FunctionRegistry([broken]).execute(ctx, "retrieve", {})
        assert result.is_error
        assert kind.__name__ in result.text
        assert "sk-12345678" not in result.text

    def test_the_definition_is_the_one_of_all_faces(self, context: SearchContext) -> None:
        """No second definition of the tool."""
        assert WebSearchProvider(context=context).tools() == (WEB_SEARCH,)
