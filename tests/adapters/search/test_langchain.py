"""LangChain's tools and retrievers as search adapters, with LangChain's own classes."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException, tool
from pydantic import BaseModel
from support.loop_time import LoopTime

from collection_search.adapters.search.langchain import LangChainSearch
from collection_search.contracts.options import SearchOptions
from collection_search.errors import (
    ConfigError,
    InputError,
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.runtime.spans import NULL_SINK
from collection_search.settings import Settings
from collection_search.settings.adapter_factory import make_adapter
from collection_search.testing import SearchAdapterContract, example_context
from collection_search.tools.web_search import WebSearchWorker

ROWS = [
    {"url": "https://a.org/1", "title": "A", "content": "about a", "score": 0.9},
    {"link": "https://b.org/2", "title": "B", "snippet": "about b", "date": "2026-03-03"},
    {"href": "https://c.org/3", "title": "C", "body": "about c"},
]
URLS = ["https://a.org/1", "https://b.org/2", "https://c.org/3"]
DUCKDUCKGO = (
    "snippet: about a, title: A, link: https://a.org/1, snippet: b, title: B, "
    "link: https://b.org/2, snippet: c, with a comma, title: C, link: https://c.org/3"
)
DOCUMENTS = [
    Document("The whole page. " * 40, metadata={"source": "https://a.org/1", "title": "A"}),
    Document("Another page.", metadata={"url": "https://b.org/2"}),
]


class Search(BaseTool):
    name: str = "some_search"
    description: str = "Search."
    answer: Any = None

    def _run(self, query: str, max_results: int = 5) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return [] if "qzxv" in query else self.answer


class WithArtifact(Search):
    response_format: Any = "content_and_artifact"

    def _run(self, query: str, max_results: int = 5) -> Any:
        return self.answer


class Retriever(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [] if "qzxv" in query else self.documents


class LinkupResult(BaseModel):
    type: str = "text"
    name: str
    url: str
    content: str


class LinkupResults(BaseModel):
    results: list[LinkupResult]


@dataclass
class ExaResult:
    url: str
    id: str
    title: str | None = None
    text: str | None = None
    published_date: str | None = None


@dataclass
class ExaResults:
    results: list[ExaResult]
    resolved_search_type: str | None = None


def found(answer: Any, *, kind: type[Search] = Search) -> Any:
    return LangChainSearch(kind(answer=answer)).search("asyncio", max_results=5)


class TestTool(SearchAdapterContract):
    """A tool that gives a list."""

    query = "asyncio"

    def adapter(self) -> LangChainSearch:
        return LangChainSearch(Search(answer=ROWS))


class TestRetriever(SearchAdapterContract):
    """A retriever that gives documents."""

    query = "asyncio"

    def adapter(self) -> LangChainSearch:
        return LangChainSearch(Retriever(documents=DOCUMENTS))


@pytest.mark.parametrize(
    "answer",
    [
        ROWS,
        tuple(ROWS),
        json.dumps(ROWS),
        json.dumps({"results": ROWS}),
        str(ROWS),
        str({"organic": ROWS, "knowledgeGraph": None}),
        {"query": "asyncio", "results": ROWS, "response_time": 1.2},
        {"organic": ROWS},
        {"web": {"results": ROWS}},
        [{"type": "text", "text": json.dumps(ROWS)}],
        DUCKDUCKGO,
    ],
    ids=["list", "tuple", "json", "json_object", "searx_text", "serper_text", "tavily", "serper",
         "brave", "blocks", "duckduckgo"],
)  # fmt: skip
def test_forms_of_results(answer):
    """As the tools of LangChain's partners give them."""
    response = found(answer)
    assert [row.url for row in response.results] == URLS
    assert [row.title for row in response.results] == ["A", "B", "C"]
    assert {row.source for row in response.results} == {"some_search"}


def test_a_row_is_mapped_by_the_names_that_are_common():
    first, second, third = found(ROWS).results
    assert (first.snippet, first.score, first.published_date) == ("about a", 0.9, None)
    assert (second.snippet, second.published_date) == ("about b", "2026-03-03")
    assert (third.snippet, third.content) == ("about c", None)


@pytest.mark.parametrize(
    "answer",
    [
        ("what a model reads", ROWS),
        ("what a model reads", {"results": ROWS}),
        (json.dumps(ROWS), None),
        (json.dumps(ROWS), "of another form"),
        (json.dumps(ROWS), {"raw": 7}),
    ],
)
def test_an_artifact_counts_first(answer):
    """What a model would read stands in for one that is missing or of another form."""
    assert [row.url for row in found(answer, kind=WithArtifact).results] == URLS


@pytest.mark.parametrize(
    "answer",
    [
        ExaResults([ExaResult(URLS[0], "1", "A", "about a", "2026-03-03")]),
        LinkupResults(results=[LinkupResult(name="A", url=URLS[0], content="about a")]),
        [LinkupResult(name="A", url=URLS[0], content="about a")],
        [{"type": "text", "name": "A", "url": URLS[0], "content": "about a"}],
        {"results": [ExaResult(URLS[0], "1", "A", "about a")]},
    ],
)
def test_objects_of_a_partners_own_class(answer):
    """A dataclass such as Exa's, a model of pydantic such as Linkup's."""
    (row,) = found(answer).results
    assert (row.url, row.title, row.snippet) == (URLS[0], "A", "about a")


@pytest.mark.parametrize("answer", [ExaResults([]), LinkupResults(results=[])])
def test_such_an_object_without_results(answer):
    assert list(found(answer).results) == []


@pytest.mark.parametrize(
    ("dates", "date"),
    [
        ({"published_date": "Tue, 03 Mar 2026 09:00:00 GMT"}, "2026-03-03T09:00:00+00:00"),
        ({"date": dt.date(2026, 3, 3)}, "2026-03-03"),
        ({"published_date": "soon", "date": "2026-03-03"}, "2026-03-03"),
        ({"date": "soon"}, None),
    ],
)
def test_a_date_is_read(dates, date):
    """In the forms of news and of documents, so that `freshness` and filters count it."""
    (row,) = found([{**ROWS[0], **dates}]).results
    assert row.published_date == date


def test_documents_become_results_with_their_text():
    """The text is the content, and its beginning the snippet."""
    adapter = LangChainSearch(Retriever(documents=DOCUMENTS))
    first, second = adapter.search("asyncio", max_results=5).results
    assert (first.url, first.title) == ("https://a.org/1", "A")
    assert first.content == ("The whole page. " * 40).strip()
    assert len(first.snippet) <= 240
    assert (second.url, second.snippet, second.content) == (
        "https://b.org/2",
        "Another page.",
        "Another page.",
    )
    assert adapter.provider_name == "Retriever"


@pytest.mark.parametrize(
    "answer",
    [
        *("", " ", [], {"results": []}, "[]", "No good DuckDuckGo Search Result was found"),
        [{"Result": "No good DuckDuckGo Search Result was found"}],
        "No search results found for 'no such thing'. Suggestions: Remove time_range argument.",
    ],
)
def test_nothing_found(answer):
    """An empty list, no text, and the sentences of DuckDuckGo's and Tavily's tools."""
    assert list(found(answer).results) == []
    assert list(found(("what a model reads", answer), kind=WithArtifact).results) == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("asyncio is a library to write concurrent code.", "a text in which no results"),
        ("[1, 2", "a text in which no results"),
        ("[" * 100_000, "a text in which no results"),
        ("[" + "-" * 100_000 + "1]", "a text in which no results"),
        (f"[{'(' * 200 + ')' * 200}]", "a text in which no results"),
        ("[__import__('os')]", "a text in which no results"),
        (f"['{'x' * 500_000}']", "a text in which no results"),
        (f"[{'9' * 5_000}]", "a text in which no results"),
        ([1, 2], "a list of something else than results"),
        ([{"title": "A"}], "results without addresses"),
        ([{"url": "ftp://a.org"}], "results without addresses"),
        ({"answer": "yes"}, "an object without results"),
        ({"error": "the plan is used up"}, "an error: the plan is used up"),
        ("Perplexity search failed: AuthenticationError", "told apart: Perplexity search failed"),
        ([{"Result": "No results: 401"}], "results without addresses"),
        ({"results": {"results": {"results": {"results": {"results": {"results": []}}}}}}, "deep"),
        (7, "int instead of results"),
        (None, "NoneType instead of results"),
    ],
)
def test_an_unknown_form_is_a_clear_bad_response(answer, said):
    """The message names the object, what it gave, and what to give instead."""
    with pytest.raises(SearchProviderBadResponse, match=said) as caught:
        found(answer)
    assert "some_search" in str(caught.value)
    assert "Give a tool" in str(caught.value)


class RefusedError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__("refused")
        self.status_code = status


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (RefusedError(401), SearchProviderAuthenticationFailed, "authenticationFailed"),
        (RefusedError(429), SearchProviderQuotaExceeded, "rateLimited"),
        (RefusedError(402), SearchProviderQuotaExceeded, "quotaExceeded"),
        (RefusedError(999), SearchProviderUnavailable, "serviceUnavailable"),
        (TimeoutError("slow"), SearchProviderTimeout, "timeout"),
        (ToolException("down"), SearchProviderUnavailable, "serviceUnavailable"),
        (ValueError("no key"), SearchProviderUnavailable, "serviceUnavailable"),
        (SearchProviderTimeout("own"), SearchProviderTimeout, "timeout"),
    ],
)
def test_a_failure_is_typed(error, kind, code):
    with pytest.raises(kind) as caught:
        found(error)
    assert caught.value.code == code
    assert type(error) in {kind, type(caught.value.__cause__)}


def test_an_error_in_place_of_results_is_a_failure():
    """Tavily's tool catches its own error, and gives it as its answer."""
    with pytest.raises(SearchProviderUnavailable, match="ValueError: Error 401: Unauthorized"):
        found({"error": ValueError("Error 401: Unauthorized")})
    with pytest.raises(SearchProviderAuthenticationFailed):
        found({"error": RefusedError(401)})


@pytest.mark.parametrize("form", [ValueError, str, lambda text: {"error": text}])
def test_what_a_failure_says_holds_no_secret(form):
    with pytest.raises(SearchProviderError) as caught:
        found(form("401 for https://x.org/?api_key=sk-abcdefghijklmnop1234567890"))
    assert "401 for" in str(caught.value)
    assert "sk-abcdefghijklmnop" not in str(caught.value)


async def test_a_tool_that_never_answers_is_left_in_time(monkeypatch):
    """By the caller's limit; the tool is cancelled."""
    ended: list[str] = []
    time = LoopTime(monkeypatch)

    @tool
    async def waiting(query: str) -> str:
        """Wait."""
        time.advance(3600)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(query)
        return ""

    with pytest.raises(SearchProviderTimeout):
        await LangChainSearch(waiting).asearch("asyncio", max_results=1, timeout=3600)
    assert ended == ["asyncio"]


def _of_schema(**arguments: str) -> list[dict[str, str]]:
    return [{"url": "https://a.org/1", "title": json.dumps(arguments)}]


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        (Tool("t", lambda words: _of_schema(words=words), "Search."), "words"),
        (
            StructuredTool.from_function(
                lambda site, q, count=5: _of_schema(q=q), name="t", description="Search."
            ),
            None,
        ),
        (
            StructuredTool.from_function(
                lambda count=5, q="": _of_schema(q=q), name="t", description="Search."
            ),
            "q",
        ),
        (
            StructuredTool(
                name="t",
                description="Search.",
                func=lambda topic: _of_schema(topic=topic),
                args_schema={"type": "object", "properties": {"topic": {"type": "string"}}},
            ),
            "topic",
        ),
    ],
    ids=["one_argument", "needs_more", "with_defaults", "json_schema"],
)
def test_the_query_goes_to_the_argument_that_is_one(given, argument):
    """By its usual names, else to the first; a tool that needs more is a failure that says so."""
    adapter = LangChainSearch(given)
    if argument is None:
        with pytest.raises(SearchProviderUnavailable, match="site"):
            adapter.search("asyncio", max_results=1)
    else:
        [row] = adapter.search("asyncio", max_results=1).results
        assert json.loads(row.title) == {argument: "asyncio"}


def test_names_and_wrong_objects():
    assert LangChainSearch(Search(answer=[])).provider_name == "some_search"
    assert LangChainSearch(Search(answer=[]), provider_name="mine").provider_name == "mine"
    with pytest.raises(ConfigError, match="ainvoke"):
        LangChainSearch(object())
    with pytest.raises(InputError):
        LangChainSearch(Search(answer=[])).search("asyncio", max_results=0)


def test_it_cannot_be_named():
    with pytest.raises(ConfigError, match="live object"):
        make_adapter(Settings(), "search", "langchain")


async def test_the_number_of_results_is_cut_here():
    """The object is never told it, and whoever asked learns that."""
    worker = WebSearchWorker(LangChainSearch(Search(answer=ROWS)), spans=NULL_SINK)
    response = await worker.arun(
        query="asyncio", context=example_context(), options=SearchOptions(max_results=2)
    )
    assert len(response.results) == 2
    told = response.outcome.meta["options"]["max_results"]
    assert told == {"requested": 2, "applied": "post_filtered"}
