"""Values of a provider's JSON; those of a wrong type count as missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....text.validation import number_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...http import HttpResponse

_MAX_DIGITS: Final = 9
"""Digits of a list index."""


def read_json(response: HttpResponse) -> Any:
    """Return the JSON value of a body, None where it holds none."""
    try:
        return response.json()
    except ValueError:
        return None


def describe_body(response: HttpResponse) -> str:
    """Return a description of a body that is no JSON object."""
    if not response.body.strip():
        return "nothing"
    if response.body.lstrip()[:1] == b"<":
        return "a web page"
    return "something else" if read_json(response) is not None else "broken JSON"


def read_text(value: Any) -> str:
    """Return the text, blank for anything else."""
    return value if isinstance(value, str) else ""


def read_path(value: Any, *path: str) -> Any:
    """Return the value at the path of names, None where it is missing.

    >>> (read_path({"query": {"search": []}}, "query", "search"),
    ...  read_path({"query": 7}, "query", "search"))
    ([], None)
    """
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def has_path(value: Any, *path: str) -> bool:
    """Return whether there is anything at the path of names, null included.

    >>> answer = {"query": {"search": None}, "meta": 7}
    >>> has_path(answer, "query", "search"), has_path(answer, "meta", "page")
    (True, False)
    """
    *above, last = path
    holder = read_path(value, *above)
    return isinstance(holder, dict) and last in holder


def find_value(value: Any, path: Sequence[str]) -> Any:
    """Return the value at the path of names and list indexes, None where it is missing.

    >>> answer = {"hits": [{"url": "https://a.org"}]}
    >>> find_value(answer, ["hits", "0", "url"]), find_value(answer, ["hits", "1", "url"])
    ('https://a.org', None)
    """
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isascii() and part.isdecimal():
            value = next(iter(value[int(part[:_MAX_DIGITS]) :][:1]), None)
        else:
            return None
    return value


def read_share(value: Any) -> float | None:
    """Return a score from 0 to 1, None for anything else.

    >>> (read_share(0.93), read_share(1), read_share(17.5), read_share("0.9"),
    ...  read_share(float("nan")))
    (0.93, 1.0, None, None, None)
    """
    return number_within(value, 0, 1)
