"""Serper's `POST /search`: Google's results, with dates as Google shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import SearchOptions
from .sample_index import SamplePage, find_hits
from .wire import (
    Dialect,
    ProviderRequest,
    Reply,
    VendorErrors,
    is_within,
    refused,
    refused_query,
    sites_of,
    throttled,
    to_freshness,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY: Final = r"(\d\d)/(\d\d)/(\d{4})"
FORMS: Final = {
    "tbs": re.compile(rf"qdr:[hdwmy]|cdr:1,cd_min:{_DAY},cd_max:{_DAY}"),
    "lr": re.compile("lang_([a-z]{2}|zh-(CN|TW))"),
    "gl": re.compile("[a-z]{2}"),
    "hl": re.compile("[a-z]{2}(-[A-Za-z]{2,4})?"),
}
"""Patterns of the parameters that Google's own pages have."""
_PERIODS: Final = {"qdr:d": "day", "qdr:w": "week", "qdr:m": "month", "qdr:y": "year"}
_CODES: Final = {"iw": "he"}
_MAX_NUM: Final = 100
_MAX_PAGE: Final = 1_000


class Serper(Dialect):
    """Serper's answers: rows, boxes, questions and further queries; errors have a status."""

    name = "serper"
    key_variable = "SERPER_API_KEY"
    fields: ClassVar[Mapping[str, str]] = {"url": "link", "title": "title", "snippet": "snippet"}
    max_query_chars = 2_048
    reach = _MAX_NUM * _MAX_PAGE
    knows_the_end = False
    without_text = frozenset({15})  # its place is taken by another box

    def answer(self, request: ProviderRequest) -> Reply:
        """Return the rows of one page, or the error of the first check that fails."""
        if request.path not in {"/search", "/news"} or request.method != "POST":
            return _error(404, "Not Found")
        if request.headers.get("x-api-key") != self.key:
            return _UNAUTHORIZED
        body = request.body
        if not isinstance(body, dict) or not isinstance(body.get("q"), str) or not body["q"]:
            return _NO_QUERY
        return _complaint(body) or Reply.of_json(self._found(request))

    def options(self, request: ProviderRequest) -> SearchOptions:
        """Return what the body, its operators and the endpoint ask for."""
        body = request.body
        return SearchOptions(
            **sites_of(body["q"]),
            topic="news" if request.path == "/news" else None,
            **google_options(body),
        )

    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return a row of `organic`; not every one has a date, some have links below."""
        row = {
            "title": page.title,
            "link": page.url,
            "snippet": page.snippet,
            "date": page.age,
            "sitelinks": [{"title": "Part one", "link": f"{page.url}#one"}],
            "position": page.number,
        }
        if page.number % 4 == 0:
            del row["date"]
        if page.number > 1:
            del row["sitelinks"]
        return row

    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return the answer's body."""
        return {
            "searchParameters": {"q": "", "type": "search", "engine": "google"},
            "organic": rows,
            "relatedSearches": [],
            "credits": 1,
        }

    def errors(self) -> VendorErrors:
        """Return the errors; missing credit is a 400 like a wrong parameter."""
        return {
            "key_refused": (_UNAUTHORIZED, refused),
            "key_echoed": (_error(403, f"Unauthorized: {self.key} is not known."), refused),
            "throttled": (_error(429, "Too many requests"), throttled),
            "no_credit": (_error(400, "Not enough credits"), used_up),
            "no_query": (_NO_QUERY, refused_query),
            "query_too_long": (_TOO_LONG, refused_query),
        }

    def _found(self, request: ProviderRequest) -> dict[str, Any]:
        body = request.body
        num, page = body.get("num", self.default_count), body.get("page", 1)
        pages = find_hits(body["q"], self.options(request))[num * (page - 1) : num * page]
        rows = [self.row(each) for each in pages if each.number not in self.without_text]
        answer = self.envelope(rows)
        answer["searchParameters"] = {**body, "type": "search", "engine": "google"}
        answer["credits"] = 1 if num <= self.default_count else 2
        if request.path == "/news":
            answer["searchParameters"]["type"] = "news"
            answer["news"] = [{**row, "source": "Example News"} for row in answer.pop("organic")]
            del answer["relatedSearches"]
            return answer
        if pages and page == 1:
            box = {"title": "In short", "link": "https://box.example.net/", "snippet": "Yes."}
            answer["answerBox"] = box
            answer["knowledgeGraph"] = {"title": "A thing", "website": "https://thing.example.net/"}
            answer["peopleAlsoAsk"] = [{"question": "Why?", **box}]
            answer["relatedSearches"] = [{"query": "something else"}]
        return answer


def google_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the parameters of Google's own pages ask for, as options."""
    days = re.findall(_DAY, given.get("tbs", ""))
    written = [f"{year}-{month}-{day}" for month, day, year in days]
    language = given.get("lr", "").removeprefix("lang_")[:2]
    return {
        "freshness": (to_freshness(*written) if days else None)
        or _PERIODS.get(given.get("tbs", "")),
        "language": _CODES.get(language, language) or None,
        "country": given.get("gl"),
    }


def _complaint(body: Mapping[str, Any]) -> Reply | None:
    if len(body["q"]) > Serper.max_query_chars:
        return _TOO_LONG
    if not is_within(body.get("num", Serper.default_count), 1, _MAX_NUM):
        return _error(400, "Invalid value for num")
    if not is_within(body.get("page", 1), 1, _MAX_PAGE):
        return _error(400, "Invalid value for page")
    for name, form in FORMS.items():
        if name in body and not form.fullmatch(str(body[name])):
            return _error(400, f"Invalid value for {name}")
    return None


def _error(status: int, text: str) -> Reply:
    return Reply.of_json({"message": text, "statusCode": status}, status)


_UNAUTHORIZED: Final = _error(403, "Unauthorized.")
_NO_QUERY: Final = _error(400, "Missing query parameter")
_TOO_LONG: Final = _error(400, "Query too long: at most 2048 characters")
