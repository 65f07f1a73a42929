"""Any search endpoint that answers in JSON, as the settings describe it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from ...contracts.options import NO_OPTIONS
from ...contracts.search import ProviderSearchResult
from ...errors import ConfigError, SearchProviderBadResponse
from ...settings.endpoint_description import split_path
from ...settings.registry import JSON_API
from ...text.known_secrets import KnownSecrets, key_id
from ...text.redaction import redact
from ...text.validation import number_within
from ..refusals import MAX_TEXT_CHARS
from .http.adapter import HttpSearch, ResultPage
from .http.json_values import describe_body, find_value, read_date, read_text
from .http.query_limits import supported_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
        if not isinstance(found, list):
            self._lacks_list(answer, path, response)
        return self.page_of(self.listed(found, response), response, more=False)

    def row(self, row: dict[str, Any]) -> ProviderSearchResult:
        """Return the result in a row; a value of a wrong type counts as missing."""
        parts = {part: find_value(row, path) for part, path in self._paths.items()}
        scale = self.description.score_scale
        score = number_within(parts.get("score"), 0, scale)
        return ProviderSearchResult(
            url=read_text(parts.get("url")),
            title=read_text(parts.get("title")),
            snippet=read_text(parts.get("snippet")),
            source=self.provider_name,
            score=None if score is None else score / scale,
            content=read_text(parts.get("content")) or None,
            published_date=read_date(parts.get("published_date"), today=self.today()),
        )

    def _lacks_list(self, answer: Any, path: tuple[str, ...], response: HttpResponse) -> NoReturn:
        """Raise SearchProviderBadResponse that says how far the path leads."""
        missing = (n for n in range(len(path)) if find_value(answer, path[: n + 1]) is None)
        depth = next(missing, len(path))
        there = _describe(find_value(answer, path[:depth]), path[:depth], path[depth : depth + 1])
        if answer is None:
            there = f"the answer is {describe_body(response)}"
        shown = redact(KnownSecrets([self.key()]).redact(there), most=MAX_TEXT_CHARS)
        raise SearchProviderBadResponse(
            f"{self.title} answered without a list of results at"
            f" {self.description.results or '.'!r} (HTTP {response.status}): {shown}."
            f" Check providers.{self.provider_name}.json_api.results, or {self.address_variable}.",
            http_status=response.status,
        )


def _describe(value: Any, path: Sequence[str], following: Sequence[str]) -> str:
    """Return what is at a path, and whether the following name is there.

    >>> _describe({"hits": [], "took": 3}, ["data"], ["items"])
    'data has the keys hits, took'
    >>> _describe({"items": None}, [], ["items"]), _describe([{}], [], ["items"])
    ('items is null', 'the answer is a list')
    """
    name = ".".join(path) or "the answer"
    if isinstance(value, list):
        return f"{name} is a list"
    if not isinstance(value, dict):
        return f"{name} is a {'text' if isinstance(value, str) else 'number or the like'}"
    if following and following[0] in value:
        return f"{'.'.join([*path, *following])} is null"
    keys = [str(key)[:MAX_KEY_CHARS] for key in list(value)[:MAX_KEYS_TOLD]]
    return f"{name} has the keys {', '.join(keys)}" if keys else f"{name} is an empty object"
