"""Token budgets of results for a model's context: per result and of all together."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.context import SearchContext
from collection_search.contracts.functions import WebSearchArguments
from collection_search.contracts.prices import tokens_in
from collection_search.contracts.search import ProviderSearchResult
from collection_search.contracts.service import SearchResponse, ServiceSearchResult
from collection_search.settings import Settings
from collection_search.testing import ScriptedAdapter
from collection_search.tools.function_calls import call_web_search
from collection_search.tools.search_texts import (
    COMPACT_TOKENS,
    FULL_TOKENS,
    LEAST_TOKENS,
    cut_to_tokens,
    format_compact,
    format_for_model,
    format_full,
    format_listed,
    share_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PREFIX = {"full": "\n\n---\n\n", "listed": "\n\n", "compact": "\n"}
WRITERS: dict[str, Callable[..., str]] = {
    "full": format_full,
    "listed": format_listed,
    "compact": format_compact,
}
LIMITS = {"full": FULL_TOKENS, "listed": COMPACT_TOKENS, "compact": COMPACT_TOKENS}

WORDS = st.sampled_from(
    ["tea", "is", "hot", "patience", "日本語の長い文", "Straße", "ก", "🎉🎉", "x" * 50]
)
TEXT = st.builds(lambda words, times: " ".join(words * times), st.lists(WORDS), st.integers(1, 60))
RESULTS = st.lists(
    st.builds(
        ServiceSearchResult,
        title=TEXT.filter(bool),
        url=st.sampled_from(["https://a.org/", f"https://a.org/{'long/' * 60}"]),
        snippet=TEXT.filter(bool),
        content=st.none() | TEXT,
    ),
    max_size=10,
)


QUERIES = st.sampled_from(["tea", "Is tea hot? " * 80, "お茶" * 500, "x" * 1_000])


def response_of(results: list[ServiceSearchResult], query: str = "tea") -> SearchResponse:
    return SearchResponse(results=results, query=query, response_time_ms=1, provider="p")


def entries_of(kind: str, text: str, count: int) -> list[str]:
    """The results of a text, without the line of the query."""
    _, _, body = text.partition("\n\n" if kind != "compact" else "\n")
    entries = body.split(PREFIX[kind]) if count else []
    left_out = re.fullmatch(r"\((\d+) more left out: no room\)", entries[-1] if entries else "")
    if left_out:
        entries.pop()
    assert len(entries) + (int(left_out[1]) if left_out else 0) == count
    return entries


def floor_of(kind: str, entry: str) -> int:
    """What a result keeps however small the budget: its title and address, and a few words."""
    if kind == "compact":
        return LEAST_TOKENS
    head, _, _ = entry.partition("\n\n" if kind == "full" else "\nSnippet: ")
    return tokens_in([f"{head}\n\n"]) + LEAST_TOKENS


@pytest.mark.slow
@settings(deadline=None)
@given(RESULTS, st.integers(1, 3_000), st.sampled_from(list(WRITERS)), QUERIES)
def test_the_total_is_never_exceeded(
    results: list[ServiceSearchResult], total: int, kind: str, query: str
) -> None:
    """By the whole text, but for the query and the stated floor; a result keeps its own limit."""
    text = WRITERS[kind](response_of(results, query), total_tokens=total)
    entries = entries_of(kind, text, len(results))
    floors = [floor_of(kind, entry) for entry in entries]
    head = text.splitlines()[0]
    around = tokens_in([head, PREFIX[kind] * len(entries), "\n\n(10 more left out: no room)"])
    kept = floors if kind == "compact" else floors[:1]
    assert tokens_in([text]) <= max(total, around + sum(kept))
    sizes = [tokens_in([entry]) for entry in entries]
    assert all(size <= max(LIMITS[kind], floor) for size, floor in zip(sizes, floors, strict=True))


@pytest.mark.parametrize("kind", WRITERS)
def test_a_long_query_takes_no_room_of_the_results(kind: str) -> None:
    """Its beginning is shown; the rest is known to who asked."""
    one = ServiceSearchResult(
        title="Tea", url="https://a.org/", snippet="Tea is hot. " * 80, content="Tea is hot. " * 400
    )
    text = WRITERS[kind](response_of([one] * 5, "Is tea hot? " * 80), total_tokens=300)
    assert 250 <= tokens_in([text]) <= 300
    assert len(text.splitlines()[0]) <= len('[Web Search: ""]') + 200
    assert text.startswith('[Web Search: "Is tea hot? Is tea')


@pytest.mark.slow
@settings(deadline=None)
@given(RESULTS, st.integers(30, 400), st.sampled_from(list(WRITERS)))
def test_the_limit_of_a_result(results: list[ServiceSearchResult], most: int, kind: str) -> None:
    """Without a total as well."""
    text = WRITERS[kind](response_of(results), tokens=most)
    for entry in entries_of(kind, text, len(results)):
        assert tokens_in([entry]) <= max(most, floor_of(kind, entry))


@pytest.mark.parametrize("total", [200, 300, 3_000])
async def test_the_fence_counts(tmp_path: Path, total: int) -> None:
    """What a model gets is the text with its fence."""
    row = ProviderSearchResult(
        url="https://a.org/", title="Tea", snippet="Tea is hot. " * 80, source="a.org"
    )
    pages = [replace(row, url=f"https://a.org/{n}") for n in range(5)]
    context = SearchContext(settings=Settings(home=tmp_path), provider=ScriptedAdapter(pages))
    arguments = WebSearchArguments(query="Is tea hot? " * 40)
    found = await call_web_search(arguments, context, total_tokens=total)
    assert tokens_in([found.text]) <= total


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 2_000), max_size=10),
    st.integers(LEAST_TOKENS, 800),
    st.integers(1, 4_000),
)
def test_shares(needed: list[int], most: int, total: int) -> None:
    """Nobody gets more than he needs, nothing is left over that somebody needs."""
    shares = share_tokens(needed, most, total)
    floors = [min(one, LEAST_TOKENS) for one in needed]
    wanted = [min(one, most) for one in needed]
    assert all(
        floor <= share <= want for floor, share, want in zip(floors, shares, wanted, strict=True)
    )
    assert sum(shares) <= max(total, sum(floors))
    if sum(shares) < min(total, sum(wanted)):
        assert total - sum(shares) < len(needed)


@settings(deadline=None)
@given(TEXT, st.integers(1, 200))
def test_a_cut_text(text: str, tokens: int) -> None:
    """It is the beginning of the text, and not longer than it may be."""
    cut = cut_to_tokens(text, tokens)
    assert tokens_in([cut]) <= tokens
    assert cut == text or (cut.endswith("…") and text.startswith(cut.removesuffix("…")))


def test_characters_of_other_scripts_count() -> None:
    """A Chinese or Japanese character is a token, so such texts are cut sooner."""
    german = ServiceSearchResult(title="Tee", url="https://a.org/", snippet="Tee ist heiß. " * 100)
    japanese = german.model_copy(update={"snippet": "お茶は熱いです。" * 175})
    assert len(german.snippet) == len(japanese.snippet)
    long, short = (format_compact(response_of([one])) for one in (german, japanese))
    assert len(long) > 2 * len(short)
    assert tokens_in([short.partition("\n")[2]]) <= COMPACT_TOKENS


def test_short_results_leave_their_part_to_long_ones() -> None:
    """A budget is used up where somebody needs it."""
    short = ServiceSearchResult(title="Tea", url="https://a.org/", snippet="Hot.")
    long = short.model_copy(update={"snippet": "Tea is hot. " * 80})
    alone = format_compact(response_of([long, long, long]), total_tokens=150)
    beside = format_compact(response_of([short, short, long]), total_tokens=150)
    assert len(beside.splitlines()[3]) > len(alone.splitlines()[3]) + 100


def test_a_long_title_leaves_the_domain() -> None:
    """Without it a model cannot say where something stands."""
    one = ServiceSearchResult(title="長い題名" * 60, url="https://a.org/x", snippet="Hot.")
    for total in (None, 30):
        assert " — a.org" in format_compact(response_of([one]), total_tokens=total)


@pytest.mark.parametrize("deep", [False, True])
def test_injected_passes_both_budgets(*, deep: bool) -> None:
    """Per result and in total."""
    one = ServiceSearchResult(
        title="Tea", url="https://a.org/", snippet="Hot. " * 300, content="Hot. " * 3_000
    )
    usual = format_for_model(response_of([one] * 5), deep=deep)
    each = format_for_model(response_of([one] * 5), deep=deep, tokens=40)
    together = format_for_model(response_of([one] * 5), deep=deep, total_tokens=200)
    assert tokens_in([each]) < tokens_in([usual])
    assert tokens_in([together]) <= 200


@pytest.mark.slow
def test_no_tokenizer_is_loaded() -> None:
    """Tokens are estimated by characters, without a model's vocabulary."""
    code = (
        "import sys; import collection_search.tools.search_texts as t;"
        "t.cut_to_tokens('a b' * 999, 9);"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " {'tokenizers', 'tiktoken', 'transformers', 'sentencepiece'}])"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert told == "[]\n"


@pytest.mark.parametrize("write", [format_full, format_listed])
def test_long_addresses_cannot_exceed_the_total(write: Callable[..., str]) -> None:
    """A hostile site does not decide the length: the last results are left out, and it is said."""
    long = ServiceSearchResult(title="Tea", url=f"https://a.org/{'x' * 1900}", snippet="Tea.")
    shown = write(response_of([long] * 5), total_tokens=200)
    assert tokens_in([shown]) <= 200 + 40  # one result is always shown
    assert "more left out: no room)" in shown
