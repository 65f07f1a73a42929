"""Fetches the texts of found pages that the provider does not deliver."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

from ...errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ...contracts.options import SearchOptions
    from ...contracts.search import SearchResult
    from ...ports import PageReader
    from .callers import AdapterCaller
    from .telemetry import SearchFacts

MAX_PAGES: Final = 20
"""Pages of one search that are fetched at most."""
_NO_TIME: Final = "no answer in time"


def wants_texts(options: SearchOptions, applied: dict[str, str]) -> bool:
    """Return whether texts, or a deep search, are wanted that the provider does not support."""
    names = {"include_content": options.include_content, "search_depth": options.search_depth}
    asked = (name for name, value in names.items() if value in {True, "deep"})
    return any(applied.get(name, "unsupported") == "unsupported" for name in asked)


async def add_texts(
    report: SearchFacts,
    options: SearchOptions,
    reader_source: Callable[[], Awaitable[PageReader]],
    caller: AdapterCaller,
    *,
    timeout_s: float,
) -> None:
    """Add to the results the texts that are wanted and were not delivered."""
    applied = {name: told["applied"] for name, told in report.options.items()}
    if not wants_texts(options, applied):
        return
    results = report.results
    report.results, notices = await caller.wait_for(
        lambda: fetch_texts(results, reader_source, timeout_s=timeout_s)
    )
    report.notices.extend(notices)
    for name in {"include_content", "search_depth"} & report.options.keys():
        if applied[name] == "unsupported":
            report.options[name]["applied"] = "emulated"


async def fetch_texts(
    results: Sequence[SearchResult],
    reader_source: Callable[[], Awaitable[PageReader]],
    *,
    timeout_s: float,
) -> tuple[list[SearchResult], list[str]]:
    """Return the results with texts, fetched for the first `MAX_PAGES` without one, and notices."""
    missing = [n for n, result in enumerate(results) if not result.content][:MAX_PAGES]
    if not missing:
        return list(results), []
    reader = await reader_source()
    ends_at = asyncio.get_running_loop().time() + timeout_s
    texts = await asyncio.gather(*(_text(reader, results[n].url, ends_at) for n in missing))
    completed, reasons = list(results), Counter[str]()
    for n, (text, reason) in zip(missing, texts, strict=True):
        if text is None:
            reasons[reason] += 1
        else:
            completed[n] = results[n].model_copy(update={"content": text})
    return completed, _notices(reasons, len(missing))


async def _text(reader: PageReader, url: str, ends_at: float) -> tuple[str | None, str]:
    """Return the page's text, or None and why there is none."""
    try:
        async with asyncio.timeout_at(ends_at):
            page = await reader.read(url)
    except TimeoutError:
        return None, _NO_TIME
    except FetchError as error:
        return None, error.reason
    return getattr(page, "text", None), _NO_TIME


def _notices(reasons: Counter[str], asked: int) -> list[str]:
    if not reasons:
        return []
    told = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    return [f"The texts of {reasons.total()} of {asked} pages could not be fetched: {told}."]
