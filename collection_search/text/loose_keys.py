"""Keys of addresses that are likely of one page, which text or canonical link must confirm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from ..errors import InvalidUrlError
from .urls import url_key

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

_KEY_PARTS = re.compile(
    r"""(?:http://)?(?:www\.(?=[^./:]++\.[^./:]))?(?P<host>[^/]*+)(?P<path>[^?#]*?)
    (?P<end>/(?:[Ii]ndex\.(?:html?|php)|[Dd]efault\.aspx?)?)?+(?P<rest>[?#].*+)?+""",
    re.VERBOSE | re.DOTALL,
)
_INDEX_NAMES: Final = ("index.html", "index.htm", "index.php", "default.asp", "default.aspx")
_KEY_ENDS: Final = (
    "", "/", *(f"/{name}" for one in _INDEX_NAMES for name in (one, one.capitalize()))
)  # fmt: skip
"""What may stand behind a folder's path without changing the page, as most sites have it."""


def loose_url_key(url: str) -> str:
    """Return a key that is equal for URLs that are likely, but not surely, of the same page.

    Unlike `url_key` it also ignores the scheme, a leading `www.`, a final slash and the usual names
    of a folder's index page. Pages that share it are one page only if text or canonical link agree.

    >>> loose_url_key("http://www.example.com/docs/index.html")
    'example.com/docs'
    """
    return "".join(_loose_parts(url_key(url)))


def similar_keys(url: str) -> list[str]:
    """Return the keys of all URLs with the same `loose_url_key`, in alphabetical order.

    >>> keys = similar_keys("https://example.com/docs/")
    >>> "example.com/docs" in keys, "http://www.example.com/docs/index.html" in keys
    (True, True)
    """
    parts = host, path, rest = _loose_parts(url_key(url))
    hosts = (host, f"www.{host}") if "." in host else (host,)
    keys = (
        f"{scheme}{name}{path}{end}{rest}"
        for scheme in ("", "http://")
        for name in hosts
        for end in _KEY_ENDS
        if path or end
    )
    return sorted(key for key in keys if _loose_parts(key) == parts)


def find_similar(url: str, pages: Mapping[str, T]) -> T | None:
    """Return the page that a person means by the URL, or None; `pages` are known by their keys.

    That is the page of this URL, else the only one with the same `loose_url_key`. Raises
    InvalidUrlError.

    >>> find_similar("example.com", {})
    Traceback (most recent call last):
    collection_search.errors.InvalidUrlError: not an absolute http(s) URL with a host, such as \
https://example.com/page
    >>> find_similar("http://example.com", {"www.example.com/": 1, "example.com/a": 2})
    1
    """
    key = url_key(url)
    if key in pages:
        return pages[key]
    similar = [pages[one] for one in similar_keys(url) if one in pages]
    return similar[0] if len(similar) == 1 else None


def current_key(url: str, key: str) -> str:
    """Return the key of a page that was stored with `key`, which earlier versions made loosely.

    A key that was not made from the URL is a caller's own and stays.

    >>> current_key("http://www.example.com/docs/", "example.com/docs")
    'http://www.example.com/docs/'
    >>> current_key("http://www.example.com/docs/", "my own id")
    'my own id'
    """
    address, mark, route = key.partition("#")
    try:
        is_made = loose_url_key(url).partition("#")[0] == address
        new = url_key(url).partition("#")[0] if is_made else address
    except InvalidUrlError:
        return key
    return f"{new}{mark}{route}"


def _loose_parts(key: str) -> tuple[str, str, str]:
    parts = _KEY_PARTS.fullmatch(key)
    if parts is None:  # the pattern matches every key
        raise InvalidUrlError("the URL has no key")
    return parts["host"], parts["path"], parts["rest"] or ""
