"""Two orders of the same pages side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collection_search.ranking.order_comparison import (
    IngestionRule,
    ScoredPage,
    compare_orders,
    spearman,
)

RULE = IngestionRule(min_score=60, top_k=2, limit=3)
URLS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def order(urls: str, *, best: float = 90) -> list[ScoredPage]:
    return [ScoredPage(url, best - 10 * place) for place, url in enumerate(urls)]


def test_each_order_has_its_own_selection() -> None:
    """At most two of the best three; a page below the limit has a rank and is not ingested."""
    found = compare_orders(order("abc"), order("cdab"), RULE)
    assert [(each.url, each.rank_a, each.rank_b) for each in found.places] == [
        ("a", 1, 3),
        ("b", 2, 4),
        ("c", 3, 1),
        ("d", None, 2),
    ]
    assert [each.url for each in found.places if each.ingested_a] == ["a", "b"]
    assert [each.url for each in found.places if each.ingested_b] == ["c", "d"]
    assert found.top10_overlap == 0.6667


def test_a_refused_search_ingests_nothing() -> None:
    """By one order alone, where only that one is below the threshold."""
    found = compare_orders(order("ab", best=40), order("ab"), RULE)
    assert [(each.ingested_a, each.ingested_b) for each in found.places] == [(False, True)] * 2


def test_nothing_is_equal_to_nothing() -> None:
    """Without a page there is no correlation."""
    assert compare_orders([], [], RULE) == ([], 1.0, None)


@given(URLS)
def test_equal_orders_correlate_fully(urls: list[str]) -> None:
    """And reversed ones not at all."""
    ranks = {url: place for place, url in enumerate(urls)}
    turned = {url: -place for url, place in ranks.items()}
    if len(urls) < 2:
        assert spearman(ranks, ranks) is None
    else:
        assert (spearman(ranks, ranks), spearman(ranks, turned)) == (1, -1)


@given(URLS, URLS)
def test_figures_stay_in_their_range(first: list[str], second: list[str]) -> None:
    """Whatever pages the orders have."""
    found = compare_orders(order("".join(first)), order("".join(second)), RULE)
    assert 0 <= found.top10_overlap <= 1
    assert found.rank_correlation is None or -1 <= found.rank_correlation <= 1
    assert len({each.url for each in found.places}) == len(found.places)


def test_a_refused_page_has_a_rank_and_is_not_ingested() -> None:
    """In either order, whatever its score; with no other page nothing is."""
    refused = ScoredPage("a", 90, is_refused=True)
    found = compare_orders([refused, ScoredPage("b", 80)], [ScoredPage("b", 95), refused], RULE)
    assert [(each.url, each.rank_a, each.rank_b) for each in found.places] == [
        ("a", 1, 2),
        ("b", 2, 1),
    ]
    assert [(each.ingested_a, each.ingested_b) for each in found.places] == [
        (False, False),
        (True, True),
    ]
    alone = compare_orders([refused], [refused], RULE)
    assert [(each.ingested_a, each.ingested_b) for each in alone.places] == [(False, False)]
