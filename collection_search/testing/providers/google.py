"""Google's `GET /customsearch/v1`: key in the address, ten rows a page, a hundred in all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import SearchOptions
from ...errors import SearchProviderInvalidQuery
from .sample_index import SamplePage, find_hits
from .wire import (
    KEY,
    Dialect,
    ExpectedError,
    ProviderRequest,
    Reply,
    VendorErrors,
    parse_int,
    refused,
    refused_query,
    sites_of,
    throttled,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

ENGINE_ID: Final = "made-up-engine"
"""The `cx` that the double knows."""

_FORMS: Final = {
    "siteSearchFilter": re.compile("[ie]"),
    "dateRestrict": re.compile(r"[dwmy]\d+"),
    "lr": re.compile(r"lang_([a-z]{2}|zh-(CN|TW))"),
    "gl": re.compile("[a-z]{2}"),
}
_PERIODS: Final = {"d1": "day", "w1": "week", "m1": "month", "y1": "year"}
_MAX_NUM: Final = 10
_MAX_END: Final = 101
"""`start + num` must not pass it."""


class Google(Dialect):
    """Google's answers: counts are strings; a query without hits has no `items`."""

    name = "google"
    key_variable = "GOOGLE_API_KEY"
    default_count = _MAX_NUM
    fields: ClassVar[Mapping[str, str]] = {"url": "link", "title": "title", "snippet": "snippet"}
    reach = 100
    key_in_query = True
    without_text = frozenset({5})

    def __init__(self, key: str = KEY, engine_id: str = ENGINE_ID) -> None:
        super().__init__(key)
        self.engine_id = engine_id

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows of one page, or the error of the first check that fails."""
        params = request.params
        if request.path != "/customsearch/v1" or request.method != "GET":
            return Reply.of_text("<title>Error 404 (Not Found)!!1</title>", 404, kind="text/html")
        if params.get("key") is None:
            return _error(403, "The request is missing a valid API key.", "forbidden", _DENIED)
        if params["key"] != self.key:
            return _KEY_INVALID
        num = parse_int(params.get("num"), _MAX_NUM) or 0
        start = parse_int(params.get("start"), 1) or 0
        in_range = 1 <= num <= _MAX_NUM and 1 <= start <= _MAX_END - num
        if params.get("cx") != self.engine_id or not params.get("q") or not in_range:
            return _INVALID_ARGUMENT
        if any(name in params and not _FORMS[name].fullmatch(params[name]) for name in _FORMS):
            return _INVALID_ARGUMENT
        return Reply.of_json(self._found(params["q"], start, num, self.options(request)))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what parameters and operators ask for."""
        params = request.params
        requested = sites_of(params["q"])
        if site := params.get("siteSearch"):
            way = "include" if params.get("siteSearchFilter") == "i" else "exclude"
            requested[f"{way}_domains"] += (site,)
        if requested["include_domains"]:
            requested["domain_mode"] = "restrict"
        return SearchOptions(
            **requested,
            freshness=_PERIODS.get(params.get("dateRestrict", "")),
            language=params.get("lr", "").removeprefix("lang_")[:2] or None,
            country=params.get("gl"),
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return an item; its text has line breaks and a leading date, or is missing."""
        item: dict[str, Any] = {
            "kind": "customsearch#result",
            "title": page.title,
            "htmlTitle": f"<b>{page.topic}</b>",
            "link": page.url,
            "displayLink": page.host,
            "snippet": f"{page.published:%b %d, %Y} ... {_broken(page.snippet)}",
            "htmlSnippet": f"<b>{page.topic}</b> ...",
            "formattedUrl": page.url,
            "pagemap": {"metatags": [{"og:type": "article"}]},
        }
        if page.number in self.without_text:
            del item["snippet"]
        if page.is_pdf:
            item |= {"mime": "application/pdf", "fileFormat": "PDF/Adobe Acrobat"}
        return item

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "kind": "customsearch#search",
            "url": {"type": "application/json", "template": "https://www.googleapis.com/..."},
            "queries": {"request": [{"totalResults": "1230", "startIndex": 1}]},
            "context": {"title": "Made up"},
            "searchInformation": {"searchTime": 0.21, "totalResults": "1230"},
            "items": rows,
        }

    def errors(self) -> VendorErrors:
        """Return the errors in their new and old forms; one comes inside a 200."""
        suspended = f"Permission denied: Consumer 'api_key:{self.key}' has been suspended."
        return {
            "key_invalid": (_KEY_INVALID, refused),
            "forbidden": (_error(403, suspended, "forbidden", _DENIED), refused),
            "api_disabled": (_API_DISABLED, _DISABLED_ERROR),
            "api_disabled_old_form": (_API_DISABLED_OLD, _DISABLED_ERROR),
            "closed_to_the_project": (_CLOSED, refused_query),
            "throttled": (_quota("per minute per user"), throttled),
            "used_up_for_the_day": (_quota("per day"), used_up),
            "used_up_old_form": (_DAILY_LIMIT, used_up),
            "past_the_last_page": (_INVALID_ARGUMENT, refused_query),
            "throttled_inside_a_200": (_quota("per minute", status=200), throttled),
            "used_up_inside_a_200": (_quota("per day", status=200), used_up),
        }

    def _found(self, query: str, start: int, num: int, requested: SearchOptions) -> dict[str, Any]:
        pages = find_hits(query, requested)
        last = start - 1 + num
        body = self.envelope([self.row(page) for page in pages[start - 1 : last]])
        total = str(12 * len(pages))  # an estimate, as Google's is
        facts = {"totalResults": total, "searchTerms": query, "count": num, "cx": self.engine_id}
        body["queries"] = {"request": [facts | {"startIndex": start}]}
        body["searchInformation"]["totalResults"] = total
        if len(pages) > last:
            body["queries"]["nextPage"] = [facts | {"startIndex": last + 1}]
        if not body["items"]:
            del body["items"]
        return body


def _broken(text: str) -> str:
    """Return the text with a line break and a no-break space in it."""
    head, _, tail = text.partition(" ")
    return f"{head}\n{tail.replace(' ', chr(0xA0), 1)}"


def _error(code: int, text: str, reason: str, more: Mapping[str, Any], status: int = 0) -> Reply:
    errors = [{"message": text, "domain": "global", "reason": reason}]
    error = {"code": code, "message": text, "errors": errors, **more}
    return Reply.of_json({"error": error}, status or code)


def _quota(limit: str, *, status: int = 429) -> Reply:
    text = (
        f"Quota exceeded for quota metric 'Queries' and limit 'Queries {limit}' of service "
        "'customsearch.googleapis.com' for consumer 'project_number:451270028559'."
    )
    return _error(429, text, "rateLimitExceeded", {"status": "RESOURCE_EXHAUSTED"}, status)


_DENIED: Final = {"status": "PERMISSION_DENIED"}
_INVALID: Final = {"status": "INVALID_ARGUMENT"}
_KEY_INFO: Final = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
    "metadata": {"service": "customsearch.googleapis.com"},
}
_KEY_INVALID: Final = _error(
    400,
    "API key not valid. Please pass a valid API key.",
    "badRequest",
    {**_INVALID, "details": [_KEY_INFO]},
)
_INVALID_ARGUMENT: Final = _error(
    400, "Request contains an invalid argument.", "badRequest", _INVALID
)
_DAILY_TEXT: Final = "Daily Limit Exceeded"
_DAILY_ERROR: Final = {
    "domain": "usageLimits",
    "reason": "dailyLimitExceeded",
    "message": _DAILY_TEXT,
}
_DAILY_LIMIT: Final = Reply.of_json(
    {"error": {"errors": [_DAILY_ERROR], "code": 403, "message": _DAILY_TEXT}}, 403
)
_DISABLED_TEXT: Final = (
    "Custom Search API has not been used in project 451270028559 before or it is disabled."
    " Enable it by visiting https://console.developers.google.com/apis/api/customsearch.googleapis.com/overview"
    " then retry."
)
_DISABLED_INFO: Final = _KEY_INFO | {"reason": "SERVICE_DISABLED"}
_API_DISABLED: Final = _error(
    403, _DISABLED_TEXT, "accessNotConfigured", _DENIED | {"details": [_DISABLED_INFO]}
)
_API_DISABLED_OLD: Final = _error(403, _DISABLED_TEXT, "accessNotConfigured", {})
_DISABLED_ERROR: Final = ExpectedError(
    SearchProviderInvalidQuery, "invalidQuery", 403, names="Enable it in the Google Cloud console"
)
_CLOSED: Final = _error(
    403, "This project does not have the access to Custom Search JSON API.", "forbidden", _DENIED
)
