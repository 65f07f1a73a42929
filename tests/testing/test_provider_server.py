"""The doubles of search providers: what each vendor checks, answers and leaves out."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from support.waiting import wait_until

from collection_search.testing import ProviderServer
from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.brave import MONTHLY_LEFT
from collection_search.testing.providers.faults import BOMB_BYTES
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.sample_index import find_hits
from collection_search.testing.providers.wire import KEY, ProviderRequest, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "qzxv jwkpf"


class Client:
    """One connection to a server, with the arguments that it accepts."""

    def __init__(self, server: ProviderServer) -> None:
        self.server = server
        self.connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"))

    def ask(self, query: str = "asyncio", **changes: Any) -> tuple[int, Any, dict[str, str]]:
        """Return status, JSON body (or text) and headers; `None` takes an argument out."""
        method, path, headers, arguments = VALID[self.server.dialect.name](query)
        for name, value in changes.items():
            target = headers if name.startswith("h_") else arguments
            target[name.removeprefix("h_").replace("_", "-") if target is headers else name] = value
        headers = {name: value for name, value in headers.items() if value is not None}
        arguments = {name: value for name, value in arguments.items() if value is not None}
        body = json.dumps(arguments) if method == "POST" else None
        address = path if body else f"{path}?{urlencode(arguments)}"
        return self.send(method, address, headers, body)

    def send(
        self, method: str, path: str, headers: dict[str, str], body: str | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        data = answer.read()
        received = {name.lower(): value for name, value in answer.getheaders()}
        if received.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        is_json = received.get("content-type", "").startswith("application/json")
        return answer.status, json.loads(data) if is_json else data.decode(), received


VALID: dict[str, Any] = {
    "tavily": lambda q: ("POST", "/search", {"authorization": f"Bearer {KEY}"}, {"query": q}),
    "brave": lambda q: ("GET", "/res/v1/web/search", {"x-subscription-token": KEY}, {"q": q}),
    "google": lambda q: ("GET", "/customsearch/v1", {}, {"key": KEY, "cx": ENGINE_ID, "q": q}),
    "searxng": lambda q: ("GET", "/search", {"user-agent": "me"}, {"q": q, "format": "json"}),
    "wikipedia": lambda q: (
        "GET",
        "/w/api.php",
        {"user-agent": "me"},
        {"action": "query", "list": "search", "format": "json", "srsearch": q},
    ),
    "serper": lambda q: ("POST", "/search", {"x-api-key": KEY}, {"q": q}),
    "serpapi": lambda q: ("GET", "/search", {}, {"api_key": KEY, "engine": "google", "q": q}),
    "exa": lambda q: ("POST", "/search", {"x-api-key": KEY}, {"query": q}),
    "linkup": lambda q: (
        "POST",
        "/v1/search",
        {"authorization": f"Bearer {KEY}"},
        {"q": q, "depth": "standard", "outputType": "searchResults"},
    ),
    "perplexity": lambda q: (
        "POST",
        "/search",
        {"authorization": f"Bearer {KEY}"},
        {"query": q},
    ),
    "mojeek": lambda q: ("GET", "/search", {}, {"api_key": KEY, "fmt": "json", "q": q}),
    "openalex": lambda q: ("GET", "/works", {}, {"search": q}),
    "kagi": lambda q: ("POST", "/api/v1/search", {"authorization": f"Bearer {KEY}"}, {"query": q}),
}


@pytest.fixture(params=list(DIALECTS))
def any_client(request: pytest.FixtureRequest) -> Iterator[Client]:
    yield from served(request.param)


@pytest.fixture
def tavily() -> Iterator[Client]:
    yield from served("tavily")


@pytest.fixture
def brave() -> Iterator[Client]:
    yield from served("brave")


@pytest.fixture
def google() -> Iterator[Client]:
    yield from served("google")


@pytest.fixture
def searxng() -> Iterator[Client]:
    yield from served("searxng")


@pytest.fixture
def wikipedia() -> Iterator[Client]:
    yield from served("wikipedia")


def served(dialect: str) -> Iterator[Client]:
    with ProviderServer(dialect) as server:
        client = Client(server)
        yield client
        client.connection.close()


# --- every dialect


def test_connections_are_kept_and_counted(any_client):
    """HTTP/1.1: three requests, one connection, a second client a second one."""
    assert [any_client.ask()[0] for _ in range(3)] == [200] * 3
    assert (any_client.server.connections, len(any_client.server.requests)) == (1, 3)
    other = Client(any_client.server)
    other.ask()
    other.connection.close()
    assert any_client.server.connections == 2


def test_requests_are_recorded(any_client):
    """Path, parameters, headers in lower case, and what was searched for."""
    any_client.ask("größe & mehr", **{"h_X-Extra": "Yes"})
    request = any_client.server.requests[0]
    assert any_client.server.dialect.query(request) == "größe & mehr"
    assert request.headers["x-extra"] == "Yes"
    assert request.target.startswith(request.path)
    assert request.method == ("POST" if request.body else "GET")


def test_what_the_vendor_refuses_is_known(google):
    """A request past the last page, for instance; a scripted failure is nobody's fault."""
    google.ask(start=101)
    google.server.fail("forbidden")
    google.ask()
    assert [request.params["start"] for request in google.server.refused] == ["101"]


def test_answers_are_the_same_each_time(any_client):
    """The index is made up, but not at random."""
    assert any_client.ask()[1] == any_client.ask()[1]


def test_a_failure_lasts_as_long_as_it_is_scripted(any_client):
    """`after` good answers, `times` bad ones, then good ones again; or until it recovers."""
    any_client.server.fail("server_error", after=1, times=2)
    assert [any_client.ask()[0] for _ in range(4)] == [200, 500, 500, 200]
    any_client.server.fail("server_error")
    assert [any_client.ask()[0] for _ in range(2)] == [500, 500]
    any_client.server.recover()
    assert any_client.ask()[0] == 200


def test_failures_are_named_and_expected(any_client):
    """Each one says which error it is, and how often it is tried."""
    failures = any_client.server.failures
    assert {"too_many_requests", "html", "reset", "held", "gzip_bomb"} <= failures.keys()
    for failure in failures.values():
        expected = failure.expected
        assert expected.retryable == (expected.attempts > 1)
        assert expected.attempts <= 3


@pytest.mark.slow
def test_every_failure_is_sent(any_client):
    """Status and body arrive, unless it is the connection that fails."""
    for name, failure in any_client.server.failures.items():
        if failure.reply.mishap:
            continue
        any_client.server.fail(name)
        method, path, headers, _ = VALID[any_client.server.dialect.name]("asyncio")
        any_client.connection.request(method, path, "{}", headers)
        answer = any_client.connection.getresponse()
        assert answer.status == failure.reply.status
        assert answer.read().lstrip(b" ").startswith(failure.reply.body), name


def test_error_pages_may_show_the_request(any_client):
    """What proxies do with addresses and headers, so that a leaking key is noticed."""
    any_client.server.fail("not_found")
    assert KEY in any_client.ask("asyncio", h_Cookie=KEY)[1]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("reset", ConnectionResetError),
        ("cut_off", http.client.IncompleteRead),
        ("garbled", http.client.BadStatusLine),
    ],
)
def test_connections_break(any_client, name, error):
    """Before the answer, within its body, and with something that is no HTTP."""
    any_client.server.fail(name)
    with pytest.raises(error):
        any_client.ask()


@pytest.mark.slow
def test_bombs_are_valid_but_too_large(any_client):
    """Who reads them to the end finds nothing, so that it shows who did not stop."""
    for name in ("oversized", "gzip_bomb"):
        any_client.server.fail(name)
        status, body, _ = any_client.ask()
        assert (status, body) == (
            200,
            json.loads(json.dumps(any_client.server.dialect.envelope([]))),
        )
    size = len(any_client.server.failures["gzip_bomb"].reply.body)
    assert size * 100 < BOMB_BYTES


def test_a_held_answer_ends_with_the_server():
    """A client that waits is let go when the server stops; no thread is left."""
    before = threading.active_count()
    ended = threading.Event()

    def wait(client: Client) -> None:
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            client.ask()
        client.connection.close()
        ended.set()

    with ProviderServer("brave") as server:
        server.fail("held")
        threading.Thread(target=wait, args=(Client(server),)).start()
        wait_until(lambda: server.requests)
    assert ended.wait(60)
    wait_until(lambda: threading.active_count() <= before)


def test_the_server_runs_in_a_with_block_only():
    """Making one opens nothing."""
    with pytest.raises(RuntimeError, match="with"):
        _ = ProviderServer("google").base_url


def test_an_own_dialect_is_taken():
    """A third party gives its dialect as an object, with a key of its own."""
    with ProviderServer(DIALECTS["brave"]("another key")) as server:
        client = Client(server)
        assert client.ask()[0] == 422
        client.connection.close()


def test_a_reply_may_be_anything(any_client):
    """Any status, headers and body can be scripted."""
    any_client.server.reply(Reply.of_text("busy", 429, Retry_After="soon"))
    status, body, headers = any_client.ask()
    assert (status, body, headers["retry-after"]) == (429, "busy", "soon")


# --- Tavily


def test_tavily_rows(tavily):
    """Five rows unless asked for others, with scores, and nulls where nothing is."""
    body = tavily.ask()[1]
    assert len(body["results"]) == 5
    assert body["results"][0]["raw_content"] is None
    assert len(tavily.ask(max_results=20)[1]["results"]) == 20
    assert tavily.ask(UNKNOWN)[1]["results"] == []
    scores = [row["score"] for row in tavily.ask(max_results=20)[1]["results"]]
    assert scores == sorted(scores, reverse=True)


def test_tavily_options(tavily):
    """Texts, dates of news in RFC 2822, and usage come when they are asked for."""
    body = tavily.ask(
        include_raw_content=True, topic="news", include_usage=True, search_depth="advanced"
    )[1]
    assert body["usage"] == {"credits": 2}
    assert body["results"][0]["published_date"] == "Mon, 02 Mar 2026 09:30:00 GMT"
    assert body["results"][0]["raw_content"]
    assert body["results"][3]["raw_content"] is None


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"h_authorization": None}, 401),
        ({"h_authorization": "Bearer wrong"}, 401),
        ({"h_authorization": None, "api_key": KEY}, 401),
        ({"h_authorization": None, "h_x_tavily_access_mode": "keyless"}, 200),
        ({"h_authorization": "Bearer wrong", "h_x_tavily_access_mode": "keyless"}, 401),
        ({"query": "x" * 400}, 200),
        ({"query": "x" * 401}, 400),
        ({"query": " "}, 400),
        ({"query": None}, 422),
        ({"max_results": 21}, 422),
        ({"max_results": "many"}, 422),
        ({"search_depth": "abyss"}, 422),
        ({"include_domains": ["a.org"] * 300}, 200),
        ({"include_domains": ["a.org"] * 301}, 400),
        ({"exclude_domains": ["a.org"] * 151}, 400),
    ],
)
def test_tavily_checks(tavily, changes, status):
    """Keys in the header, limits in the body; a 422 holds a list."""
    got, body, _ = tavily.ask(**changes)
    assert got == status
    if status == 422:
        assert isinstance(body["detail"], list)
    elif status != 200:
        assert set(body["detail"]) == {"error"}


def test_tavily_takes_posts_only(tavily):
    """Another method or path is refused."""
    assert tavily.send("GET", "/search", {})[0] == 405
    assert tavily.send("GET", "/find", {})[0] == 404


# --- Brave


def test_brave_rows(brave):
    """HTML snippets, dates without a zone, no `web` without hits, limits in the headers."""
    _, body, headers = brave.ask()
    row = body["web"]["results"][0]
    assert "<strong>asyncio</strong>" in row["description"]
    assert "&amp;" in row["description"]
    assert row["page_age"] == "2026-03-02T09:30:00"
    assert headers["x-ratelimit-remaining"] == f"1, {MONTHLY_LEFT}"
    assert "web" not in brave.ask(UNKNOWN)[1]


def test_brave_offset_is_a_page(brave):
    """The third page of ten starts with row 21."""
    body = brave.ask(count=10, offset=2)[1]
    assert body["web"]["results"][0]["url"] == find_hits("asyncio")[20].url
    assert body["query"]["more_results_available"] is True
    assert brave.ask(count=20, offset=2)[1]["query"]["more_results_available"] is False


def test_brave_compresses_where_it_may(brave):
    """Gzip for those who accept it, the same body for others."""
    _, packed, headers = brave.ask(**{"h_Accept-Encoding": "gzip"})
    assert headers["content-encoding"] == "gzip"
    assert packed == brave.ask(**{"h_Accept-Encoding": "identity"})[1]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"h_x_subscription_token": None}, "SUBSCRIPTION_TOKEN_INVALID"),
        ({"h_x_subscription_token": "wrong"}, "SUBSCRIPTION_TOKEN_INVALID"),
        ({"q": "x" * 401}, "VALIDATION"),
        ({"q": "x " * 51}, "VALIDATION"),
        ({"q": None}, "VALIDATION"),
        ({"count": 21}, "VALIDATION"),
        ({"count": 0}, "VALIDATION"),
        ({"count": "ten"}, "VALIDATION"),
        ({"offset": 10}, "VALIDATION"),
        ({"offset": -1}, "VALIDATION"),
    ],
)
def test_brave_checks(brave, changes, code):
    """Token and parameters: both are a 422, told apart by the code."""
    status, body, _ = brave.ask(**changes)
    assert (status, body["type"], body["error"]["code"]) == (422, "ErrorResponse", code)


# --- Google


def test_google_rows(google):
    """Line breaks and a date in the text, one item without it, a PDF, numbers as strings."""
    body = google.ask()[1]
    items = body["items"]
    assert len(items) == 10
    assert items[0]["snippet"].startswith("Mar 02, 2026 ... How\nasyncio\xa0works")
    assert [n for n, item in enumerate(items, 1) if "snippet" not in item] == [5]
    assert [n for n, item in enumerate(items, 1) if "mime" in item] == [10]
    assert body["searchInformation"]["totalResults"] == "540"
    assert "items" not in google.ask(UNKNOWN)[1]


def test_google_pages(google):
    """`nextPage` until the rows end; it points past the limit of a hundred as well."""
    assert google.ask(start=41)[1]["queries"].get("nextPage") is None
    assert google.ask(start=31)[1]["queries"]["nextPage"][0]["startIndex"] == 41
    assert google.ask("python", start=91)[1]["queries"]["nextPage"][0]["startIndex"] == 101


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"key": "wrong"}, 400),
        ({"key": None}, 403),
        ({"cx": "other"}, 400),
        ({"q": None}, 400),
        ({"num": 11}, 400),
        ({"num": 0}, 400),
        ({"start": 0}, 400),
        ({"start": 91, "num": 10}, 200),
        ({"start": 92, "num": 10}, 400),
        ({"start": 101, "num": 1}, 400),
    ],
)
def test_google_checks(google, changes, status):
    """Key, engine, and a hundred rows in all."""
    got, body, _ = google.ask(**changes)
    assert got == status
    assert status == 200 or body["error"]["code"] == status


# --- SearXNG


def test_searxng_rows(searxng):
    """A page of its own size, a row that is no page, a duplicate, and dates now and then."""
    body = searxng.ask()[1]
    rows = body["results"]
    assert set(body) == {
        "query",
        "results",
        "answers",
        "corrections",
        "infoboxes",
        "suggestions",
        "unresponsive_engines",
    }
    assert len(rows) == 22
    assert [row["url"] for row in rows if row["template"] == "keyvalue.html"] == [None]
    assert rows[-1]["url"] == f"{rows[0]['url']}?utm_source=feed"
    assert rows[0]["engines"] == rows[2]["engines"][::-1]
    assert (rows[0]["publishedDate"], rows[2]["publishedDate"]) == ("2026-03-02T09:30:00", None)
    assert rows[0]["score"] > 1
    assert body["unresponsive_engines"] == [["duckduckgo", "CAPTCHA"]]


def test_searxng_zero_hits(searxng):
    """An empty list, for a blank query and a page past the end too."""
    for body in (searxng.ask(UNKNOWN)[1], searxng.ask(" ")[1], searxng.ask(pageno=500)[1]):
        assert (body["results"], body["unresponsive_engines"]) == ([], [])


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"q": ""}, 400),
        ({"pageno": 0}, 400),
        ({"pageno": -1}, 400),
        ({"pageno": "abc"}, 400),
        ({"language": "english"}, 400),
        ({"language": "zh-Hans"}, 400),
        ({"language": "de-DE"}, 200),
        ({"time_range": "hour"}, 400),
        ({"time_range": "week"}, 200),
        ({"safesearch": 3}, 400),
        ({"engines": "no such engine"}, 200),
        ({"q": "!!w asyncio"}, 302),
        ({"h_user_agent": None}, 429),
        ({"h_user_agent": "python-httpx/0.28.1"}, 429),
    ],
)
def test_searxng_checks(searxng, changes, status):
    """Bad values are named; bangs lead away; agents of libraries are limited."""
    assert searxng.ask(**changes)[0] == status


def test_searxng_without_the_format(searxng):
    """HTML with status 200."""
    status, body, headers = searxng.ask(format="jason")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert body.startswith("<!doctype html>")


def test_searxng_answers_some_queries_itself(searxng):
    """No engine is asked: an answer, no rows."""
    body = searxng.ask("avg 1 2 3")[1]
    assert (body["results"], body["answers"][0]["answer"]) == ([], "9")


# --- MediaWiki


def test_wikipedia_rows(wikipedia):
    """Titles without addresses, highlighted HTML, a time with its zone."""
    body = wikipedia.ask()[1]
    row = body["query"]["search"][0]
    assert len(body["query"]["search"]) == 10
    assert "url" not in row
    assert '<span class="searchmatch">asyncio</span>' in row["snippet"]
    assert row["timestamp"] == "2026-03-02T09:30:00Z"
    assert wikipedia.ask(UNKNOWN)[1]["query"]["search"] == []


def test_wikipedia_pages(wikipedia):
    """`continue` until the rows end."""
    assert wikipedia.ask(srlimit=20)[1]["continue"]["sroffset"] == 20
    last = wikipedia.ask(srlimit=20, sroffset=40)[1]
    assert "continue" not in last
    assert len(last["query"]["search"]) == 5


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"srsearch": None}, "missingparam"),
        ({"srsearch": "x" * 301}, "cirrussearch-query-too-long"),
        ({"srlimit": 501}, "badinteger"),
        ({"sroffset": -1}, "badinteger"),
        ({"list": "pages"}, "badvalue"),
    ],
)
def test_wikipedia_checks(wikipedia, changes, code):
    """Errors come with status 200, the code in body and header."""
    status, body, headers = wikipedia.ask(**changes)
    assert (status, body["error"]["code"]) == (200, code)
    assert headers["mediawiki-api-error"] == code


def test_wikipedia_wants_an_agent(wikipedia):
    """Requests without one are refused."""
    assert wikipedia.ask(h_user_agent=None)[0] == 403


def test_what_a_request_asks_for():
    """The dialects read the size of a page from the request."""
    size = {
        "tavily": ProviderRequest("POST", "/search", {}, {}, body={"max_results": 7}),
        "brave": ProviderRequest("GET", "/", {"count": "7"}, {}),
        "google": ProviderRequest("GET", "/", {"num": "7"}, {}),
        "wikipedia": ProviderRequest("GET", "/", {"srlimit": "7"}, {}),
    }
    assert {DIALECTS[name]().rows_asked(request) for name, request in size.items()} == {7}


@pytest.mark.parametrize("name", DIALECTS)
def test_failures_are_short_to_look_at(name: str) -> None:
    """Whatever is sent: a person prints them all."""
    failures = ProviderServer(name).failures
    assert max(len(repr(failure)) for failure in failures.values()) < 400
    assert repr(Reply(500, b"x" * 7, mishap="cut")) == "Reply(500, 7 bytes, mishap='cut')"
