"""SearXNG: a metasearch engine that you run yourself."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.health import Health
from ...errors import SearchProviderUnavailable
from ...text.redaction import redact
from ..refusals import MAX_TEXT_CHARS
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.json_values import read_json, read_path, read_text
from .http.query_limits import drop_empty
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from ...contracts.options import SearchOptions
    from ..http import HttpRequest, HttpResponse

MAX_ENGINES_TOLD: Final = 8
"""Failing engines that a message names."""

_SIGN: Final = re.compile(
    r"(?<!\S)(?:!+(?=\w)|!!+(?!\S)|:(?=[A-Za-z]{2,3}(?:[-_]\w+)?(?!\S))|<(?=\d+(?!\S)))"
)
"""The signs that turn a word of a query into a command."""


class SearxngSearch(HttpSearch):
    """Searches a SearXNG instance; its settings decide about engines, language and formats.

    A request cannot limit the number of results: the adapter cuts a page that holds more.
    `api_key` is sent as a bearer token, for a proxy in front of it.
    """

    provider_name = "searxng"
    title = "SearXNG"
    key_variable = "SEARXNG_API_KEY"
    address_variable = "SEARXNG_URL"
    names = RowNames(snippet="content", dates=("publishedDate",))  # its scores have no upper end
    method = "GET"
    paging = Paging("pageno", first=1)
    page_size = 20  # for planning: about 10 an engine and page
    max_pages = 100
    fills_pages = False
    page_is_open = True
    always_sends = ("results", "query|unresponsive_engines")
    supports: ClassVar = {
        "max_results": "post_filtered",
        "include_domains": "emulated",  # where its engines know the operator
        "exclude_domains": "emulated",
        "topic": "native",
        "freshness": "native",  # engines that cannot are left out
        "language": "native",
    }
    ranges_of_days = False
    rules = FailureRules(
        statuses={403: "unknown"},
        sentences={
            403: "{name} refuses to answer in JSON. Add json to search.formats in its settings.yml,"
            " or check {key} if a proxy guards it.",
            429: "{name} takes no more requests from this address for now: its limiter is on. "
            "Use an instance of your own, or have it pass this address.",
        },
    )

    def prepared(self, query: str) -> str:
        """Return the query without SearXNG's commands."""
        return strip_commands(query)

    def parameters(
        self,
        query: str,
        count: int,  # noqa: ARG002 - the server decides
        options: SearchOptions,
    ) -> dict[str, Any]:
        """Return what the call for each page sends."""
        chosen = {
            "categories": "news" if options.topic == "news" else None,
            "time_range": options.freshness,
            "language": options.language,
        }
        return {"q": query, "format": "json"} | drop_empty(chosen)

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the first page of results; an empty one with failed engines is an error."""
        page = self.parse_further(response)
        failed = _failed_engines(self.answer(response).get("unresponsive_engines"))
        if failed and not page.raw:
            raise SearchProviderUnavailable(
                f"{self.title} found nothing, and engines of it failed: {failed}. "
                "Try again later, or enable other engines.",
                http_status=response.status,
            )
        return page

    def parse_further(self, response: HttpResponse) -> ResultPage:
        """Return a page of results; without any it is the end.

        SearXNG lists suspended engines for pages too that they would not have been asked for.
        """
        answer = self.answer(response)
        listed = self.listed(answer.get("results"), response)
        raw = [row for row in listed if row.get("template") != "keyvalue.html"]
        failed = _failed_engines(answer.get("unresponsive_engines"))
        notices = [f"{self.title} had no answer from some engines: {failed}."] if failed else []
        return self.page_of(raw, response, notices=notices, complete=not failed)

    def check(self) -> HttpRequest:
        """Return an empty search, which SearXNG refuses in JSON if JSON is enabled."""
        return self.request("", 1, 0)

    def health(self, response: HttpResponse) -> Health:
        """Return that JSON is enabled, without a search. Raises SearchProviderError."""
        refusal = read_json(response)
        if response.status != HTTPStatus.BAD_REQUEST or not read_path(refusal, "error"):
            self.answer(response)
        return Health("it answers in JSON; its engines were not asked")


def strip_commands(query: str) -> str:
    """Return the query without SearXNG's commands: `!engine`, `:language`, `<seconds`.

    At the beginning the whole word is removed, later only its sign.

    >>> strip_commands("!!w :de <3 asyncio timeouts"), strip_commands("css !important")
    ('asyncio timeouts', 'css important')
    """
    words = query.split()
    while words and words[0][0] in "!:<":
        words.pop(0)
    return " ".join(_SIGN.sub("", " ".join(words)).split())


def _failed_engines(value: Any) -> str:
    """Return the engines without an answer and why, in the instance's own language.

    >>> _failed_engines([["bing", "timeout"], ["brave", "Suspended: CAPTCHA"]])
    'bing (timeout), brave (Suspended: CAPTCHA)'
    """
    failed = []
    for engine in value if isinstance(value, list) else []:
        parts = [read_text(part) for part in (engine if isinstance(engine, list) else [engine])]
        if parts and parts[0]:
            failed.append(f"{parts[0]} ({parts[1]})" if parts[1:] else parts[0])
    return redact(", ".join(failed[:MAX_ENGINES_TOLD]), most=MAX_TEXT_CHARS)
