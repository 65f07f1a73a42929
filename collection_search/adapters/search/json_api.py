"""Any search endpoint that answers in JSON, as the settings describe it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from ...contracts.options import NO_OPTIONS
from ...contracts.search import ProviderSearchResult
from ...errors import ConfigError, InvalidUrlError, SearchProviderBadResponse
from ...settings.endpoint_description import split_path
from ...settings.registry import JSON_API
from ...text.clean import clean_snippet, excerpt
from ...text.known_secrets import key_id
from ...text.timestamps import read_date
from ...text.urls import normalize_url
from ...text.validation import number_within
from .http.adapter import HttpSearch, ResultPage
from .http.json_values import describe_body, find_value, read_text
from .http.query_limits import supported_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date
    from typing import Self

    from httpx import AsyncClient
    from pydantic import SecretStr

    from ...contracts.options import Applied, OptionName, SearchOptions
    from ...settings import Settings
    from ...settings.endpoint_description import JsonApi
    from ..http import HttpRequest, HttpResponse

MAX_KEYS_TOLD: Final = 12
"""Keys of an answer that a message names."""
MAX_KEY_CHARS: Final = 60
_MAX_READ_CHARS: Final = 5_000
"""Of a text that is searched for words: megabytes of markup take seconds."""
_NEEDED: Final = {"url": "http(s) address", "title": "text", "snippet": "text"}
"""What the paths lead to that decide whether a row is a result."""


class JsonApiSearch(HttpSearch):
    """Searches an endpoint that the settings describe, with one request and no further pages.

    Its name is the operator's. Paths are names and indexes: nothing in them is evaluated.
    """

    provider_name = JSON_API
    title = "JSON endpoint"
    address_variable = ""
    page_size = 20
    supports: ClassVar = supported_options("include_content")

    def __init__(
        self,
        description: JsonApi,
        *,
        name: str,
        api_key: str | SecretStr | None = None,
        base_url: str | None = None,
        timeout: float = 10.0,
        today: Callable[[], date] | None = None,
        http_client: AsyncClient | None = None,
    ) -> None:
        self.description = description
        self.provider_name = self.title = name
        self.key_variable = f"{name.upper()}_API_KEY"
        self.address_variable = f"{name.upper()}_BASE_URL"
        self.page_size = description.page_size
        self.method, self.path = description.method, description.path
        self.storage_rights = description.storage_rights
        super().__init__(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            today=today,
            http_client=http_client,
        )
        paths = description.fields.model_dump(exclude_none=True)
        self._paths = {part: split_path(path) for part, path in paths.items()}

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        *,
        provider: str = JSON_API,
        http_client: AsyncClient | None = None,
    ) -> Self:
        """Return the adapter of a described endpoint. Raises ConfigError for any other name."""
        description = settings.described(provider)
        if description is None:
            raise ConfigError(
                f"{provider} is no provider by itself: describe an endpoint in the settings, as"
                " providers.NAME.json_api, and use that NAME."
            )
        return cls(
            description,
            name=provider,
            **cls.arguments(settings.access(provider)),
            timeout=settings.search_timeout_s,
            http_client=http_client,
        )

    @property
    def answers_from(self) -> str:
        """The source with a hash of the description."""
        return f"{self.source}&json_api={key_id(self.description.model_dump_json())}"

    def request(
        self, query: str, count: int, page: int, options: SearchOptions = NO_OPTIONS
    ) -> HttpRequest:
        """Return the only call; a description without a path asks the very address."""
        made = super().request(query, count, page, options)
        return made if self.path.strip("/") else replace(made, url=self.base_url)

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied, as far as the description has a place for it."""
        made = super().applied(options)
        if "max_results" in made and not self.description.count:
            made["max_results"] = "post_filtered"
        if not self.description.fields.content:
            made.pop("include_content", None)
        return made

    def parameters(
        self,
        query: str,
        count: int,
        options: SearchOptions,  # noqa: ARG002 - the endpoint has none that are known here
    ) -> dict[str, Any]:
        """Return what the call sends."""
        return self.description.parameters(query, count)

    def login(self) -> dict[str, str]:
        """Return the header with the key, none without a key."""
        if not (key := self.key()):
            return {}
        return {self.description.key_header: f"{self.description.prefix()}{key}"}

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        answer = self.value(response)
        path = split_path(self.description.results)
        found = find_value(answer, path)
        rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
        if not rows and found != []:
            self._lacks_list(answer, path, response)
        if rows and not any(map(self._is_result, rows)):
            self._lacks_results(rows, response)
        lost = self._lost(rows, "title", "snippet").values()
        notices = [
            f"{self.title} has {each} in any row. Check {self._fields_place}." for each in lost
        ]
        return replace(self.page_of(rows, response, more=False), notices=notices)

    def row(self, row: dict[str, Any]) -> ProviderSearchResult:
        """Return the result in a row; a value of a wrong type counts as missing."""
        parts = {part: find_value(row, path) for part, path in self._paths.items()}
        scale = self.description.score_scale
        score = number_within(parts.get("score"), 0, scale)
        return ProviderSearchResult(
            url=read_text(parts.get("url")),
            title=read_text(parts.get("title")),
            snippet=_read_snippet(parts),
            source=self.provider_name,
            score=None if score is None else score / scale,
            content=read_text(parts.get("content")) or None,
            published_date=read_date(parts.get("published_date"), today=self.today()),
        )

    def _is_result(self, row: dict[str, Any]) -> bool:
        """Return whether the row has an address and a text, as the worker demands."""
        made = self.row(row)
        return _is_address(made.url) and _has_words(made.snippet)

    def _lacks_list(self, answer: Any, path: tuple[str, ...], response: HttpResponse) -> NoReturn:
        """Raise SearchProviderBadResponse that says how far the path leads."""
        is_list = isinstance(find_value(answer, path), list)
        there = f"the answer is {describe_body(response)}"
        if answer is not None:
            there = _describe_end(answer, path, "the answer")
        self._fail(
            f"without a list of results at {self.description.results or '.'!r}"
            f" (HTTP {response.status}): {self._shown(there)}."
            f" Check providers.{self.provider_name}.json_api.results"
            f"{'' if is_list else f', or {self.address_variable}'}.",
            response,
        )

    def _lacks_results(self, rows: Sequence[dict[str, Any]], response: HttpResponse) -> NoReturn:
        """Raise SearchProviderBadResponse that names the paths that lead nowhere in every row."""
        lost = self._lost(rows, *_NEEDED)
        paths = ((), *(self._paths[part] for part in lost))
        ends = [_describe_end(rows[0], path, "the first row") for path in paths]
        missing = ", ".join(lost.values())
        self._fail(
            f"with no usable row of {len(rows)} (HTTP {response.status}):"
            f" {missing or 'no row has both an http(s) address and a text'}."
            f" Correct {self._fields_place};"
            f" {self._shown('; '.join(dict.fromkeys(ends)))}.",
            response,
        )

    def _lost(self, rows: Sequence[dict[str, Any]], *parts: str) -> dict[str, str]:
        """Return which of these parts' paths lead nowhere in every row, each with words for it."""
        return {
            part: f"no {_NEEDED[part]} at fields.{part} ({'.'.join(self._paths[part])!r})"
            for part in parts
            if rows
            and part in self._paths
            and not any(_leads_to(part, find_value(row, self._paths[part])) for row in rows)
        }

    @property
    def _fields_place(self) -> str:
        return f"providers.{self.provider_name}.json_api.fields"

    def _fail(self, what: str, response: HttpResponse) -> NoReturn:
        """Raise SearchProviderBadResponse for an answer that the description does not fit."""
        raise SearchProviderBadResponse(
            f"{self.title} answered {what}", http_status=response.status
        )


def _read_snippet(parts: Mapping[str, Any]) -> str:
    """Return the snippet, else the beginning of the full text, else the title."""
    if _has_words(snippet := read_text(parts.get("snippet"))):
        return snippet
    content = clean_snippet(read_text(parts.get("content"))[:_MAX_READ_CHARS])
    return excerpt(content) or read_text(parts.get("title"))


def _leads_to(part: str, value: Any) -> bool:
    """Return whether a value is what the part of a result needs."""
    return (_is_address if part == "url" else _has_words)(read_text(value))


def _is_address(text: str) -> bool:
    try:
        return bool(normalize_url(text))
    except InvalidUrlError:
        return False


def _has_words(text: str) -> bool:
    """Return whether anything but markup is in the text."""
    return bool(clean_snippet(text[:_MAX_READ_CHARS]))


def _describe_end(value: Any, path: Sequence[str], name: str) -> str:
    """Return what is where a path into a value, which is called `name`, ends."""
    missing = (n for n in range(len(path)) if find_value(value, path[: n + 1]) is None)
    depth = next(missing, len(path))
    return _describe(find_value(value, path[:depth]), path[:depth], path[depth : depth + 1], name)


def _describe(
    value: Any, path: Sequence[str], following: Sequence[str], whole: str = "the answer"
) -> str:
    """Return what is at a path into the whole, and whether the following name is there.

    >>> _describe({"hits": [], "took": 3}, ["data"], ["items"])
    'data has the keys hits, took'
    >>> _describe({"items": None}, [], ["items"]), _describe([{}], [], ["items"])
    ('items is null', 'the answer is a list')
    >>> _describe([7], ["items"], [])
    'items is a list of something else than objects'
    """
    name = ".".join(path) or whole
    if isinstance(value, list):
        has_objects = not value or any(isinstance(each, dict) for each in value)
        return f"{name} is a list{'' if has_objects else ' of something else than objects'}"
    if not isinstance(value, dict):
        return f"{name} is a {'text' if isinstance(value, str) else 'number or the like'}"
    if following and following[0] in value:
        return f"{'.'.join([*path, *following])} is null"
    keys = [str(key)[:MAX_KEY_CHARS] for key in list(value)[:MAX_KEYS_TOLD]]
    return f"{name} has the keys {', '.join(keys)}" if keys else f"{name} is an empty object"
