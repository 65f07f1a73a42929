"""Patterns that choose the pages of a site by their paths."""

from __future__ import annotations

from dataclasses import dataclass
from string import punctuation
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ..errors import InputError, InvalidUrlError
from .redaction import redact
from .urls import normalize_url

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

MAX_PATTERNS: Final = 100
MAX_PATTERN_CHARS: Final = 500

_HOST: Final = "https://a.example"


@dataclass(frozen=True, slots=True)
class PathPatterns:
    """The patterns of pages to include and of those to exclude.

    `*` stands for any characters, `/` included, or for none. All other characters stand for
    themselves, and case matters. A pattern is compared with the whole path of an address; one that
    has a `?` is compared with path and query. The time grows with the length of the address alone.

    >>> docs = PathPatterns.of(include=["/docs/*"], exclude=["/docs/*/old/*", "*?*page=*"])
    >>> docs.fits("https://example.org/docs/a/b"), docs.fits("https://example.org/blog/docs/a")
    (True, False)
    >>> docs.fits("https://example.org/docs/2/old/a"), docs.fits("https://example.org/docs/?page=2")
    (False, False)
    """

    include: tuple[str, ...] = ()
    """Empty: all pages."""
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> Self:
        """Return the patterns in the normal form of URLs. Raises InputError for a wrong one."""
        return cls(_normal_patterns("include", include), _normal_patterns("exclude", exclude))

    def fits(self, url: str) -> bool:
        """Return whether a page is wanted; its URL is in normal form."""
        target = "/" + url.partition("://")[2].partition("/")[2]
        path = target.partition("?")[0]

        def matches(pattern: str) -> bool:
            return _matches(pattern, target if "?" in pattern else path)

        is_included = not self.include or any(map(matches, self.include))
        return is_included and not any(map(matches, self.exclude))


def _matches(pattern: str, text: str) -> bool:
    """Return whether the text fits as a whole; each part of the pattern is looked for once."""
    first, *others = pattern.split("*")
    if not others:
        return text == first
    *middle, last = others
    if not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return at <= end


def _normal_patterns(name: str, patterns: Iterable[str]) -> tuple[str, ...]:
    normal = tuple(dict.fromkeys(_normal_pattern(name, pattern) for pattern in patterns))
    if len(normal) > MAX_PATTERNS:
        raise InputError(f"{name}: {len(normal)} patterns were given, {MAX_PATTERNS} are allowed.")
    return normal


def _normal_pattern(name: str, pattern: str) -> str:
    """Return a pattern with its characters escaped as those of an address are."""
    told = f"{name}: {redact(pattern, most=MAX_PATTERN_CHARS)!r}"
    if not pattern.startswith(("/", "*")):
        raise InputError(f"{told} is no pattern of a path: it begins with / or *, as /docs/* does.")
    if "#" in pattern or len(pattern) > MAX_PATTERN_CHARS:
        raise InputError(f"{told}: a pattern has at most {MAX_PATTERN_CHARS} characters and no #.")
    path, mark, query = pattern.partition("?")
    start = "" if path.startswith("/") else "/"
    try:
        path = normalize_url(f"{_HOST}{start}{path}").removeprefix(f"{_HOST}{start}")
    except InvalidUrlError as error:
        raise InputError(f"{told}: {error}.") from error
    return f"{path}{mark}{quote(query, safe=punctuation)}"
