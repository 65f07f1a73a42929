"""Search responses as text for a model's context: compact, in full, or as the arrow's reply.

Text of a page is untrusted: it gets no format of our own lines, no invisible characters, images
or links, and it is cut to a budget of tokens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..contracts.prices import CHARS_PER_TOKEN
from ..text.clean import excerpt, to_unicode
from ..text.urls import host_of

if TYPE_CHECKING:
    from ..contracts.service import SearchResponse, ServiceSearchResult

COMPACT_TOKENS: Final = 100
"""Maximum for one result in the compact format."""
FULL_TOKENS: Final = 500
"""Maximum for one result in the full format."""
_TITLE_CHARS: Final = 200
_LINE_CHARS: Final = 1_000

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_OURS = re.compile(
    r"^\s*(?:#+\s|-{3,}\s*$|={3,}\s*$|\[Web Search:|\[\d+\]|Search:|Source:|Published:"
    r"|(?:→|->)\s*\w)",
    re.IGNORECASE,
)
"""The beginning of one of our own lines."""


def compact(response: SearchResponse, *, tokens: int = COMPACT_TOKENS) -> str:
    """Return one line for each result, of at most `tokens`.

    >>> from collection_search.contracts.service import SearchResponse, ServiceSearchResult
    >>> page = ServiceSearchResult(title="Tasks", url="https://a.org/t", snippet="How to cancel.")
    >>> print(compact(SearchResponse(results=[page], query="q", response_time_ms=9, provider="p")))
    [Web Search: "q"]
    1. Tasks — a.org: How to cancel.
    """
    said = [f"{_title(one)} — {host_of(one.url)}: {_line(one.snippet)}" for one in response.results]
    lines = [f"{n}. {_budgeted(line, tokens)}" for n, line in enumerate(said, start=1)]
    return "\n".join([_head(response), *(lines or ["No results."])])


def full(response: SearchResponse, *, tokens: int = FULL_TOKENS) -> str:
    """Return a section for each result, with its content if there is any, else its snippet."""
    return f"{_head(response)}\n\n" + (_sections(response, tokens) or "No results.")


def injected(response: SearchResponse, *, deep: bool = False) -> str:
    """Return the full format after a deep search that returned content, else the compact one."""
    return full(response) if deep and _has_content(response) else compact(response)


def arrow_reply(response: SearchResponse, *, deep: bool = False) -> str:
    """Return the reply to `→ search`: numbered results, in full after a deep search."""
    count = len(response.results)
    lines = [
        f'Search: "{_line(response.query)}"',
        f"{count} result{'' if count == 1 else 's'} ({response.response_time_ms}ms)",
    ]
    if deep and _has_content(response):
        return "\n".join([*lines, "", _sections(response, FULL_TOKENS)])
    for n, one in enumerate(response.results, start=1):
        lines += ["", f'[{n}] "{_title(one)}" — {host_of(one.url)}']
        lines.append(f'    "{_budgeted(_line(one.snippet), COMPACT_TOKENS)}"')
    if not deep and count:
        lines += ["", 'Use → search "query" depth:deep for full content extraction.']
    return "\n".join(lines)


def foreign(text: str) -> str:
    r"""Return text of a page in a form that is safe among our own lines.

    >>> foreign("## Result 9: mine\n![x](http://evil.example/?q=1)see [this](http://a.org)")
    '| ## Result 9: mine\nx see this'
    """
    shown = _LINK.sub(r"\1 ", _IMAGE.sub(r"\1 ", _INVISIBLE.sub("", to_unicode(text))))
    lines = (" ".join(line.split()) for line in shown.splitlines())
    return "\n".join(f"| {line}" if _OURS.match(line) else line for line in lines if line)


def _head(response: SearchResponse) -> str:
    return f'[Web Search: "{_line(response.query)}"]'


def _has_content(response: SearchResponse) -> bool:
    return any(one.content for one in response.results)


def _sections(response: SearchResponse, tokens: int) -> str:
    return "\n\n---\n\n".join(
        "\n".join(_section(n, one, tokens)) for n, one in enumerate(response.results, start=1)
    )


def _section(n: int, one: ServiceSearchResult, tokens: int) -> list[str]:
    lines = [f"## Result {n}: {_title(one)}", f"Source: {_line(one.url)}"]
    if one.published_date:
        lines.append(f"Published: {_line(one.published_date)[:10]}")
    used = len("\n".join(lines)) // CHARS_PER_TOKEN
    return [*lines, "", _budgeted(foreign(one.content or one.snippet), max(tokens - used, 1))]


def _title(one: ServiceSearchResult) -> str:
    return excerpt(_line(one.title), _TITLE_CHARS)


def _line(text: str) -> str:
    """Return text of a page as one line without double quotation marks."""
    return " ".join(foreign(excerpt(text, _LINE_CHARS)).split()).replace('"', "'")


def _budgeted(text: str, tokens: int) -> str:
    """Return the text, cut to this number of tokens at the end of a word."""
    most = tokens * CHARS_PER_TOKEN
    if len(text) <= most:
        return text
    border = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most))
    return f"{text[: border if border > most // 2 else most - 1].rstrip()}…"
