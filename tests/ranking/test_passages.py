"""Neighbouring chunks are one passage, and pages are mixed within a few points."""

from __future__ import annotations

import string
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from collection_search.contracts.collection import Chunk, Document, StoredChunk
from collection_search.ranking.passages import (
    DISPLACED_WITHIN,
    MAX_JOINED,
    JoinedChunks,
    ScoredChunk,
    choose_passages,
)
from collection_search.text.clean import chunk_spans

TEXT = " ".join(f"{letter}{letter} is number {n}." for n, letter in enumerate(string.ascii_letters))


def cut(
    name: str = "a", text: str = TEXT, *, size: int = 120, overlap: int = 40
) -> list[StoredChunk]:
    page = Document(f"https://a.example/{name}", name, name, name)
    spans = chunk_spans(text, size=size, overlap=overlap)
    return [
        StoredChunk(page, Chunk(n, text[start:end], start, end), 0.0)
        for n, (start, end) in enumerate(spans)
    ]


def choose(scores: dict[tuple[str, int], float], k: int = 8) -> list[JoinedChunks]:
    """Return the passages of chunks given by page and ordinal, in any order."""
    chunks = {name: cut(name) for name, _ in scores}
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    return choose_passages(
        [ScoredChunk(chunks[name][n], score, n) for (name, n), score in ordered], k
    )


def shown(spans: list[JoinedChunks]) -> list[tuple[str, float]]:
    return [(span.document.url_key, span.score) for span in spans]


def test_neighbours_are_one_passage() -> None:
    """The overlap comes once, the place spans both, and the best scores count."""
    first, second = (one.chunk for one in cut()[:2])
    assert second.start < first.end
    [span] = choose({("a", 1): 77, ("a", 0): 70})
    assert span.chunk.text == TEXT[first.start : second.end]
    assert (span.chunk.start, span.chunk.end) == (first.start, second.end)
    assert (span.score, span.places) == (77, (1, 0))


def test_a_chunk_between_two_passages_joins_them() -> None:
    """It is found last."""
    [span] = choose({("a", 0): 77, ("a", 2): 70, ("a", 1): 65})
    assert span.chunk.text == TEXT[: cut()[2].chunk.end]


def test_chunks_apart_are_passages_of_their_own() -> None:
    """What lies between was not found."""
    assert shown(choose({("a", 0): 77, ("a", 2): 70})) == [("a", 77), ("a", 70)]


def test_a_far_worse_neighbour_stays_apart_without_the_overlap() -> None:
    """It would water the better passage down, and repeats nothing of it."""
    better, worse = choose({("a", 0): 77, ("a", 1): 43})
    assert better.chunk == cut()[0].chunk
    assert worse.chunk.start >= better.chunk.end
    assert worse.chunk.text == TEXT[worse.chunk.start : worse.chunk.end]
    better, worse = choose({("a", 1): 77, ("a", 0): 43})
    assert worse.chunk.end <= better.chunk.start
    assert worse.chunk.text == TEXT[: worse.chunk.end]


def test_a_passage_has_the_place_of_its_first_chunk() -> None:
    """Headings, page and table header are those above its beginning, whichever chunk is best."""
    first, second, *_ = cut()
    above = replace(first.chunk, headings=("A",), page=1, table_header="| a |")
    below = replace(second.chunk, headings=("B",), page=2, table_header="| b |")
    scored = [(second, below, 77), (first, above, 70)]
    [span] = choose_passages(
        [ScoredChunk(replace(one, chunk=chunk), score, 0) for one, chunk, score in scored], 8
    )
    shown = span.chunk
    assert (shown.headings, shown.page, shown.table_header) == (("A",), 1, "| a |")


def test_a_rest_of_a_table_keeps_its_header() -> None:
    """What it shares with the better passage goes, rows too; after the table there is none."""
    rows = [f"| Ship {n} | It sank. |" for n in range(6)]
    text = "\n".join([*rows, "", "After the table come other words."])
    spans = [(0, text.index("| Ship 3")), (text.index("| Ship 2"), len(text))]
    page = Document("https://a.example/a", "a", "a", "a")
    first, second = (
        Chunk(n, text[start:end].rstrip(), start, end, table_header="| Name | Fate |")
        for n, (start, end) in enumerate(spans)
    )
    scored = [(first, 77), (second, 40)]
    _, rest = choose_passages(
        [ScoredChunk(StoredChunk(page, chunk, 0.0), score, 0) for chunk, score in scored], 8
    )
    assert rest.chunk.text.startswith("| Ship 3")
    assert rest.chunk.table_header == "| Name | Fate |"


def test_a_passage_has_three_chunks_at_most() -> None:
    """The rest of a long stretch follows as the next passage."""
    spans = choose({("a", n): 80 - n for n in range(5)})
    assert [span.score for span in spans] == [80, 77]
    assert spans[0].chunk.end == cut()[2].chunk.end


def test_chunks_without_overlap_are_joined_by_the_white_space_between() -> None:
    """One line end, or the two of a paragraph."""
    for between in ("\n", "\n\n"):
        text = between.join(["One line.", "Another one."])
        chunks = cut(text=text, size=14, overlap=0)
        [span] = choose_passages([ScoredChunk(one, 70, 70) for one in chunks], 8)
        assert (span.chunk.text, span.chunk.end) == (text, len(text))


def test_copies_that_were_cut_differently_are_joined_where_they_meet() -> None:
    """Numbers that follow each other may lie apart there."""
    far, near = cut(size=60, overlap=0)[1], cut(size=90, overlap=10)[1]
    first, third = cut()[0], cut()[2]
    assert third.chunk.start - far.chunk.end > 20
    assert len(choose_passages([ScoredChunk(third, 70, 50), ScoredChunk(far, 69, 50)], 8)) == 2
    [span] = choose_passages([ScoredChunk(first, 70, 50), ScoredChunk(near, 69, 50)], 8)
    assert span.chunk.text == TEXT[: near.chunk.end]


def test_another_page_displaces_the_fourth_passage_within_five_points() -> None:
    """The worst of the page goes; one that is six points worse displaces nothing."""
    page: dict[tuple[str, int], float] = {("a", 2 * n): 80 - n for n in range(4)}
    assert shown(choose({**page, ("b", 0): 72}, k=4))[-1] == ("b", 72)
    assert shown(choose({**page, ("b", 0): 71}, k=4))[-1] == ("a", 77)


SCORES = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.integers(0, 8)), st.integers(0, 100), max_size=30
)


@given(SCORES, st.integers(1, 10))
def test_passages_are_whole_in_order_and_apart(
    scores: dict[tuple[str, int], float], k: int
) -> None:
    """Each is a piece of its page's text, and no two of a page share any of it."""
    spans = choose(scores, k)
    assert len(spans) <= k
    assert [span.score for span in spans] == sorted((span.score for span in spans), reverse=True)
    assert bool(spans) is bool(scores)
    for n, span in enumerate(spans):
        assert span.chunk.text == TEXT[span.chunk.start : span.chunk.end]
        assert len(span.chunk.text) <= MAX_JOINED * 120
        for other in spans[:n]:
            is_apart = span.chunk.start >= other.chunk.end or span.chunk.end <= other.chunk.start
            assert is_apart or span.document != other.document


@given(SCORES, st.integers(1, 10))
def test_no_passage_gives_way_to_one_more_than_five_points_worse(
    scores: dict[tuple[str, int], float], k: int
) -> None:
    """Compared with the best `k` of all passages, whatever their pages."""
    kept = [score for _, score in shown(choose(scores, k))]
    best = [score for _, score in shown(choose(scores, 100))][:k]
    assert len(kept) == len(best)
    assert all(have >= want - DISPLACED_WITHIN for have, want in zip(kept, best, strict=True))
