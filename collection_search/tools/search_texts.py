"""Search responses as text for a model's context: compact, in full, or as the arrow's reply.

Text of a page is untrusted: see `collection_search.text.untrusted`. It is cut to a budget of
tokens for each result and for all of them; tokens are estimated by characters, without a tokenizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..contracts.prices import CHARS_PER_TOKEN, tokens_in
from ..text.clean import excerpt
from ..text.counted import counted
from ..text.untrusted import neutralize, neutralize_line, show_url
from ..text.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..contracts.service import SearchResponse, ServiceSearchResult

COMPACT_TOKENS: Final = 100
"""Maximum for one result in the compact format."""
FULL_TOKENS: Final = 500
"""Maximum for one result in the full format."""
LEAST_TOKENS: Final = 20
"""What a result keeps of its text however small the budget of all is."""
ARROW_HINT: Final = 'Use → search "query" depth:deep for full content extraction.'
_SHORT_CHARS: Final = 200
"""What is shown of a title and of the query."""
_LINE_CHARS: Final = 1_000
_RULE: Final = "\n\n---\n\n"


def format_compact(
    response: SearchResponse, *, tokens: int = COMPACT_TOKENS, total_tokens: int | None = None
) -> str:
    """Return one line for each result, of at most `tokens`; the text has `total_tokens` at most.

    >>> from collection_search.contracts.service import SearchResponse, ServiceSearchResult
    >>> page = ServiceSearchResult(title="Tasks", url="https://a.org/t", snippet="How to cancel.")
    >>> found = SearchResponse(results=[page], query="q", response_time_ms=9, provider="p")
    >>> print(format_compact(found))
    [Web Search: "q"]
    1. Tasks — a.org: How to cancel.
    """
    rows = list(enumerate(response.results, start=1))
    head = _head(response)
    needed = [tokens_in([_compact_line(n, one)]) for n, one in rows]
    shares = share_tokens(needed, tokens, _left(total_tokens, head, "\n" * len(rows)))
    shown = [_compact_line(n, one, share) for (n, one), share in zip(rows, shares, strict=True)]
    return "\n".join([head, *(shown or ["No results."])])


def format_full(
    response: SearchResponse, *, tokens: int = FULL_TOKENS, total_tokens: int | None = None
) -> str:
    """Return a section for each result, with its content if there is any, else its snippet."""
    head = f"{_head(response)}\n\n"
    return head + (_sections(response, tokens, _left(total_tokens, head)) or "No results.")


def format_listed(
    response: SearchResponse, *, tokens: int = COMPACT_TOKENS, total_tokens: int | None = None
) -> str:
    """Return title, URL and snippet of each result, as the answer to a tool call.

    >>> from collection_search.contracts.service import SearchResponse, ServiceSearchResult
    >>> page = ServiceSearchResult(title="Tasks", url="https://a.org/t", snippet="How to cancel.")
    >>> found = SearchResponse(results=[page], query="q", response_time_ms=9, provider="p")
    >>> print(format_listed(found))
    [Web Search: "q"]
    <BLANKLINE>
    [1] Tasks
    URL: https://a.org/t
    Snippet: How to cancel.
    """
    heads = [
        f"[{n}] {_short(one.title)}\nURL: {show_url(one.url)}"
        for n, one in enumerate(response.results, start=1)
    ]
    texts = [f"Snippet: {_line(one.snippet)}" for one in response.results]
    head = f"{_head(response)}\n\n"
    left = _left(total_tokens, head)
    entries = _budgeted(heads, texts, tokens, left, between="\n", separator="\n\n")
    return head + (entries or "No results.")


def format_for_model(
    response: SearchResponse,
    *,
    deep: bool = False,
    tokens: int | None = None,
    total_tokens: int | None = None,
) -> str:
    """Return the full format after a deep search that returned content, else the compact one.

    Its texts are untrusted: a model gets it inside `collection_search.text.untrusted.fence`.
    """
    write: Callable[..., str] = format_full if deep and _has_content(response) else format_compact
    limits = {} if tokens is None else {"tokens": tokens}
    return write(response, total_tokens=total_tokens, **limits)


def format_arrow_reply(response: SearchResponse, *, deep: bool = False, hint: bool = True) -> str:
    """Return the reply to `→ search`: numbered results, in full after a deep search.

    `hint` adds the last line, which says how to search deeply.
    """
    lines = [
        f'Search: "{_short(response.query)}"',
        f"{counted(len(response.results), 'result')} ({response.response_time_ms}ms)",
    ]
    if deep and _has_content(response):
        return "\n".join([*lines, "", _sections(response, FULL_TOKENS, None)])
    for n, one in enumerate(response.results, start=1):
        lines += ["", f'[{n}] "{_short(one.title)}" — {_host(one)}']
        lines.append(f'    "{cut_to_tokens(_line(one.snippet), COMPACT_TOKENS)}"')
    if hint and not deep and response.results:
        lines += ["", ARROW_HINT]
    return "\n".join(lines)


def share_tokens(
    needed: Sequence[int], most: int, total: int | None, least: Sequence[int] | None = None
) -> list[int]:
    """Return the tokens of each text: as many as it needs, up to `most`, of `total` together.

    What short texts leave over goes to the longer ones. No text gets less than it has in `least`,
    which is `LEAST_TOKENS` of each by default.

    >>> share_tokens([10, 300, 300], 200, None), share_tokens([10, 300, 300], 200, 210)
    ([200, 200, 200], [10, 100, 100])
    """
    if total is None:
        return [most] * len(needed)
    shares = list(least or (min(one, LEAST_TOKENS) for one in needed))
    wanted = [min(one, most) - share for one, share in zip(needed, shares, strict=True)]
    left = max(total - sum(shares), 0)
    for place, n in enumerate(sorted(range(len(needed)), key=lambda n: wanted[n])):
        more = max(min(wanted[n], left // (len(needed) - place)), 0)
        shares[n] += more
        left -= more
    return shares


def cut_to_tokens(text: str, tokens: int) -> str:
    """Return the text, cut to this number of tokens at the end of a word.

    >>> cut_to_tokens("How do tasks end?", 4)
    'How do…'
    """
    if tokens_in([text]) <= tokens:
        return text
    low, high = 0, min(len(text), tokens * CHARS_PER_TOKEN)
    while low < high:  # the longest beginning that leaves a token for the ellipsis
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_in([text[:middle]]) < tokens else (low, middle - 1)
    border = max(text.rfind(" ", 0, low + 1), text.rfind("\n", 0, low + 1))
    return f"{text[: border if border > low // 2 else low].rstrip()}…"


def _head(response: SearchResponse) -> str:
    return f'[Web Search: "{_short(response.query)}"]'


def _left(total: int | None, *texts: str) -> int | None:
    """Return what the texts leave of a total."""
    return None if total is None else max(total - tokens_in(texts), 0)


def _has_content(response: SearchResponse) -> bool:
    return any(one.content for one in response.results)


def _compact_line(n: int, one: ServiceSearchResult, tokens: int | None = None) -> str:
    """Return number, title, domain and snippet; a long title leaves room for the domain."""
    title, rest = f"{n}. {_short(one.title)}", f" — {_host(one)}: {_line(one.snippet)}"
    if tokens is None or tokens_in([title, rest]) <= tokens:
        return title + rest
    return cut_to_tokens(cut_to_tokens(title, tokens // 2) + rest, tokens)


def _sections(response: SearchResponse, tokens: int, total_tokens: int | None) -> str:
    heads = ["\n".join(_section_head(n, one)) for n, one in enumerate(response.results, start=1)]
    texts = [neutralize(one.content or one.snippet) for one in response.results]
    return _budgeted(heads, texts, tokens, total_tokens, between="\n\n", separator=_RULE)


def _budgeted(
    heads: Sequence[str],
    texts: Sequence[str],
    tokens: int,
    total: int | None,
    *,
    between: str,
    separator: str,
) -> str:
    """Return the entries; a text is cut to what its head leaves of the budget.

    Each keeps its head, which is title and address, and `LEAST_TOKENS` of its text. The last ones
    are left out where even that exceeds the total.
    """
    sizes = [tokens_in([head + between]) for head in heads]
    lengths = [tokens_in([text]) for text in texts]
    needed = [size + length for size, length in zip(sizes, lengths, strict=True)]
    least = [size + min(length, LEAST_TOKENS) for size, length in zip(sizes, lengths, strict=True)]
    kept = _kept(least, total, separator)
    rest = [_left_out(len(heads) - kept)] if kept < len(heads) else []
    left = _left(total, separator * (kept + len(rest)), *rest)
    shares = share_tokens(needed[:kept], tokens, left, least[:kept])
    entries = [
        f"{head}{between}{cut_to_tokens(text, max(share - size, LEAST_TOKENS))}"
        for head, size, text, share in zip(heads, sizes, texts, shares, strict=False)
    ]
    return separator.join([*entries, *rest])


def _kept(least: Sequence[int], total: int | None, separator: str) -> int:
    """Return how many entries have room, at least one."""
    gap, note = tokens_in([separator]), tokens_in([_left_out(len(least))])
    if total is None or sum(least) + gap * len(least) <= total:
        return len(least)
    kept = len(least) - 1
    while kept > 1 and sum(least[:kept]) + gap * (kept + 1) + note > total:
        kept -= 1
    return max(kept, 1)


def _left_out(count: int) -> str:
    return f"({count} more left out: no room)"


def _section_head(n: int, one: ServiceSearchResult) -> list[str]:
    lines = [f"## Result {n}: {_short(one.title)}", f"Source: {show_url(one.url)}"]
    if one.published_date:
        lines.append(f"Published: {_line(one.published_date)[:10]}")
    return lines


def _short(text: str) -> str:
    return excerpt(_line(text), _SHORT_CHARS)


def _host(one: ServiceSearchResult) -> str:
    return show_url(host_of(one.url))


def _line(text: str) -> str:
    return neutralize_line(excerpt(text, _LINE_CHARS))
