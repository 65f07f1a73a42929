"""Token budgets of results for a model's context: per result and of all together."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.contracts.prices import tokens_in
from collection_search.contracts.service import SearchResponse, ServiceSearchResult
from collection_search.tools.search_texts import (
    COMPACT_TOKENS,
    FULL_TOKENS,
    LEAST_TOKENS,
    compact,
    cut_to_tokens,
    full,
    injected,
    listed,
    share_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = {"full": "\n\n---\n\n", "listed": "\n\n", "compact": "\n"}
WRITERS: dict[str, Callable[..., str]] = {"full": full, "listed": listed, "compact": compact}
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


def response_of(results: list[ServiceSearchResult]) -> SearchResponse:
    return SearchResponse(results=results, query="tea", response_time_ms=1, provider="p")


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
@given(RESULTS, st.integers(1, 3_000), st.sampled_from(list(WRITERS)))
def test_the_total_is_never_exceeded(
    results: list[ServiceSearchResult], total: int, kind: str
) -> None:
    """Nor is a result's own limit, but for titles, addresses and the stated floor."""
    entries = entries_of(
        kind, WRITERS[kind](response_of(results), total_tokens=total), len(results)
    )
    sizes = [tokens_in([entry]) for entry in entries]
    floors = [floor_of(kind, entry) for entry in entries]
    assert sum(sizes) <= max(total, floors[0] if kind != "compact" and floors else sum(floors))
    assert all(size <= max(LIMITS[kind], floor) for size, floor in zip(sizes, floors, strict=True))


@pytest.mark.slow
@settings(deadline=None)
@given(RESULTS, st.integers(30, 400), st.sampled_from(list(WRITERS)))
def test_the_limit_of_a_result(results: list[ServiceSearchResult], most: int, kind: str) -> None:
    """Without a total as well."""
    text = WRITERS[kind](response_of(results), tokens=most)
    for entry in entries_of(kind, text, len(results)):
        assert tokens_in([entry]) <= max(most, floor_of(kind, entry))


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
    long, short = (compact(response_of([one])) for one in (german, japanese))
    assert len(long) > 2 * len(short)
    assert tokens_in([short.partition("\n")[2]]) <= COMPACT_TOKENS


def test_short_results_leave_their_part_to_long_ones() -> None:
    """A budget is used up where somebody needs it."""
    short = ServiceSearchResult(title="Tea", url="https://a.org/", snippet="Hot.")
    long = short.model_copy(update={"snippet": "Tea is hot. " * 80})
    alone = compact(response_of([long, long, long]), total_tokens=150)
    beside = compact(response_of([short, short, long]), total_tokens=150)
    assert len(beside.splitlines()[3]) > len(alone.splitlines()[3]) + 100


def test_a_long_title_leaves_the_domain() -> None:
    """Without it a model cannot say where something stands."""
    one = ServiceSearchResult(title="長い題名" * 60, url="https://a.org/x", snippet="Hot.")
    for total in (None, 30):
        assert " — a.org" in compact(response_of([one]), total_tokens=total)


@pytest.mark.parametrize("deep", [False, True])
def test_injected_passes_both_budgets(*, deep: bool) -> None:
    """Per result and in total."""
    one = ServiceSearchResult(
        title="Tea", url="https://a.org/", snippet="Hot. " * 300, content="Hot. " * 3_000
    )
    usual = injected(response_of([one] * 5), deep=deep)
    each = injected(response_of([one] * 5), deep=deep, tokens=40)
    together = injected(response_of([one] * 5), deep=deep, total_tokens=200)
    assert tokens_in([each]) < tokens_in([usual])
    assert tokens_in([together]) <= 200 + 20


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


@pytest.mark.parametrize("write", [full, listed])
def test_long_addresses_cannot_exceed_the_total(write: Callable[..., str]) -> None:
    """A hostile site does not decide the length: the last results are left out, and it is said."""
    long = ServiceSearchResult(title="Tea", url=f"https://a.org/{'x' * 1900}", snippet="Tea.")
    shown = write(response_of([long] * 5), total_tokens=200)
    assert tokens_in([shown]) <= 200 + 60
    assert "more left out: no room)" in shown
