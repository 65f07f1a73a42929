"""Options of a search, and how each of them was applied."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from ..errors import InvalidUrlError
from ..text.urls import normalize_url
from ..text.validation import require_form

OptionName = Literal[
    "max_results",
    "search_depth",
    "include_domains",
    "exclude_domains",
    "topic",
    "include_content",
    "freshness",
    "language",
    "country",
]
Applied = Literal["native", "emulated", "post_filtered", "unsupported"]
"""`native`: the provider applied it. `emulated`: by query operators, another endpoint or order.
`post_filtered`: results that do not fit were dropped. `unsupported`: it was not applied."""

MAX_DOMAINS: Final = 100
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
_RANGE: Final = re.compile(r"(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)?")


def _fresh(value: str) -> str:
    value = value.strip().lower()
    match = _RANGE.fullmatch(value)
    try:
        days = [date.fromisoformat(day) for day in match.groups() if day] if match else []
    except ValueError:
        days = []
    if value not in _DAYS and (not days or days != sorted(days)):
        raise ValueError(
            "write day, week, month, year, or a range of days such as 2026-01-01..2026-03-31"
        )
    return value


def _domain(value: str) -> str:
    """Return the domain in lower case and as A-labels.

    >>> _domain(" Bücher.example "), _domain("https://docs.python.org/")
    ('xn--bcher-kva.example', 'docs.python.org')
    """
    bare = value.strip().removeprefix("*.")
    try:
        host, _, rest = normalize_url(f"https://{bare.rpartition('://')[2]}")[8:].partition("/")
    except InvalidUrlError as error:
        raise ValueError(f"{value!r} is no domain; write one such as example.com") from error
    if rest or ":" in host or "." not in host:
        raise ValueError(f"{value!r} is no domain; write one such as example.com")
    return host.rstrip(".")


def _letters(example: str) -> AfterValidator:
    return AfterValidator(require_form("[A-Za-z]{2}", f"give two letters, such as {example}"))


Domain = Annotated[str, AfterValidator(_domain)]
Freshness = Annotated[str, AfterValidator(_fresh)]


class SearchOptions(BaseModel):
    """Options of one search; the provider or the worker chooses what is left out.

    Names are accepted in camel case too, as in the service contract, and null as not given.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    max_results: int | None = Field(default=None, ge=1, le=100)
    search_depth: Literal["basic", "deep"] | None = None
    """`deep`: more and longer content, at a higher price where the provider has it."""
    include_domains: tuple[Domain, ...] = Field(default=(), max_length=MAX_DOMAINS)
    exclude_domains: tuple[Domain, ...] = Field(default=(), max_length=MAX_DOMAINS)
    domain_mode: Literal["prefer", "restrict"] = "prefer"
    """Whether `include_domains` come first, or are the only ones."""
    topic: Literal["general", "news"] | None = None
    include_content: bool | None = None
    """Whether the page's text is wanted."""
    freshness: Freshness | None = None
    """day, week, month (30 days), year, or days `from..to`, both included, the end may be open."""
    language: Annotated[str, _letters("de"), AfterValidator(str.lower)] | None = None
    """ISO 639-1, such as de."""
    country: Annotated[str, _letters("DE"), AfterValidator(str.upper)] | None = None
    """ISO 3166-1, such as DE."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_given(cls, given: Any) -> Any:
        """Return what was given without nulls, which typed clients send for the rest."""
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if value is not None}

    @property
    def restricts(self) -> bool:
        """Return whether only `include_domains` are wanted."""
        return bool(self.include_domains) and self.domain_mode == "restrict"

    def published(self, today: date) -> tuple[date | None, date | None]:
        """Return the first and the last day of `freshness`, None where it is open.

        >>> SearchOptions(freshness="week").published(date(2026, 11, 21))
        (datetime.date(2026, 11, 14), None)
        """
        if self.freshness is None:
            return None, None
        if days := _DAYS.get(self.freshness):
            return today - timedelta(days=days), None
        first, _, last = self.freshness.partition("..")
        return date.fromisoformat(first), date.fromisoformat(last) if last else None

    def idle(self) -> dict[str, Any]:
        """Return the options that were given but change nothing, as plain values.

        >>> SearchOptions(topic="general", max_results=3).idle()
        {'topic': 'general'}
        """
        return {
            name: value
            for name in _NAMES
            if name in self.model_fields_set
            and (value := getattr(self, name)) in _USUAL
            and value not in _UNSAID
        }

    def asked(self) -> dict[OptionName, Any]:
        """Return the options that change something, as plain values.

        >>> SearchOptions(topic="general", include_domains=("a.org",)).asked()
        {'include_domains': ['a.org']}
        """
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name in _NAMES
            if (value := getattr(self, name)) not in _USUAL
        }


_NAMES: Final[tuple[OptionName, ...]] = OptionName.__args__  # type: ignore[attr-defined]
_UNSAID: Final = (None, ())
_USUAL: Final = (*_UNSAID, False, "basic", "general")


def utc_today() -> date:
    """Return today's date in UTC, like the dates of results."""
    return datetime.now(UTC).date()


NO_OPTIONS: Final = SearchOptions()
"""No option is set."""


def in_domains(host: str, domains: tuple[str, ...]) -> bool:
    """Return whether the host is one of the domains or below one; a look-alike is not.

    >>> in_domains("docs.python.org", ("python.org",)), in_domains("notpython.org", ("python.org",))
    (True, False)
    """
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)
