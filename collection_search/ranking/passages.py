"""Which chunks become passages: neighbours are joined, and no page takes all the places."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from ..text.tables import header_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.collection import Chunk, Document, StoredChunk

MAX_JOINED: Final = 3
"""Chunks of one passage."""
JOINED_WITHIN: Final = 20.0
"""Points that a chunk may be worse than the best chunk of the passage that it joins."""
MAX_PER_DOCUMENT: Final = 3
"""Passages of one document, as long as others are about as good."""
MAX_GAP: Final = 20
"""Characters of white space between two chunks that follow each other."""
DISPLACED_WITHIN: Final = 5.0
"""Points that a passage of another document may be worse than the one that it displaces."""


class ScoredChunk(NamedTuple):
    """A chunk that was found, with its score, 0-100."""

    found: StoredChunk
    score: float
    place: int
    """Its position among all that were found."""


@dataclass(frozen=True, slots=True)
class JoinedChunks:
    """Neighbouring chunks of one document as one text, with the score of the best of them."""

    document: Document
    """Of the best chunk: a text may have several addresses."""
    chunk: Chunk
    """The best chunk, with the text, start and end of all, and the place of the first."""
    score: float
    places: tuple[int, ...]
    """Of all of them, among all that were found."""


def choose_passages(candidates: Sequence[ScoredChunk], k: int) -> list[JoinedChunks]:
    """Return at most `k` passages, best first; the candidates come best first, too.

    A chunk joins the passage of its document that it touches, unless it is far worse or the passage
    is long. The fourth passage of a document makes room for one of another document that is at most
    5 points worse. No two passages of a document share text.
    """
    runs: list[list[ScoredChunk]] = []
    for candidate in candidates:
        if len(runs) >= k and candidate.score < runs[k - 1][0].score - DISPLACED_WITHIN:
            break
        _add(runs, candidate)
    standing = [(_text_of(run[0].found.document), run[0].score) for run in runs]
    return _apart([_span(runs[place]) for place in _mixed(standing, k)])


def _add(runs: list[list[ScoredChunk]], candidate: ScoredChunk) -> None:
    """Add a chunk, no better than those before, to the run that it continues or as a new one.

    The first chunk of a run is its best, and the runs are in the order of these.
    """
    text = _text_of(candidate.found.document)
    near = [
        run for run in runs if _text_of(run[0].found.document) == text and _joins(run, candidate)
    ]
    if not near:
        runs.append([candidate])
        return
    near[0].append(candidate)
    for other in near[1:]:  # the chunk stood between both
        if len(near[0]) + len(other) <= MAX_JOINED:
            near[0].extend(other)
            runs.remove(other)


def _joins(run: Sequence[ScoredChunk], candidate: ScoredChunk) -> bool:
    """Return whether a chunk continues a run of its own text."""
    return (
        len(run) < MAX_JOINED
        and candidate.score >= run[0].score - JOINED_WITHIN
        and any(_touch(one.found.chunk, candidate.found.chunk) for one in run)
    )


def _touch(one: Chunk, other: Chunk) -> bool:
    """Return whether one follows the other; copies of a text may be cut at other places."""
    if abs(one.ordinal - other.ordinal) != 1:
        return False
    before, after = sorted((one, other), key=lambda chunk: chunk.start)
    shared = max(before.end - after.start, 0)
    return after.start - before.end <= MAX_GAP and before.text.endswith(after.text[:shared])


def _text_of(document: Document) -> str:
    """Return what tells the document's text from others, whatever its address."""
    return document.content_hash or document.url_key


def _mixed(passages: Sequence[tuple[str, float]], k: int) -> list[int]:
    """Return the positions of `k` passages, given best first as text and score.

    From the worst up, a passage of a text that has more than its share is displaced by the best one
    that was left out, while that is at most 5 points worse.

    >>> _mixed([("a", 70), ("a", 69), ("a", 68), ("a", 67), ("b", 62), ("c", 50)], k=4)
    [0, 1, 2, 4]
    >>> _mixed([("a", 70), ("a", 69), ("a", 68), ("a", 67), ("b", 61), ("c", 50)], k=4)
    [0, 1, 2, 3]
    """
    seen: Counter[str] = Counter()
    places = []
    for text, _ in passages:
        seen[text] += 1
        places.append(seen[text])
    surplus = [n for n in range(min(k, len(passages))) if places[n] > MAX_PER_DOCUMENT]
    spare = [n for n in range(k, len(passages)) if places[n] <= MAX_PER_DOCUMENT]
    chosen = set(range(min(k, len(passages))))
    for worse, other in zip(reversed(surplus), spare, strict=False):
        if passages[other][1] < passages[worse][1] - DISPLACED_WITHIN:
            break
        chosen.remove(worse)
        chosen.add(other)
    return sorted(chosen)


def _span(run: Sequence[ScoredChunk]) -> JoinedChunks:
    """Return the chunks of a run as one text; white space between them becomes line ends."""
    best = run[0]
    chunks = sorted((one.found.chunk for one in run), key=lambda chunk: chunk.start)
    parts = [chunks[0].text]
    for before, after in pairwise(chunks):
        gap = after.start - before.end
        parts.append("\n" * min(gap, 2) + after.text[max(-gap, 0) :])
    chunk = replace(
        best.found.chunk,
        text="".join(parts),
        start=chunks[0].start,
        end=chunks[-1].end,
        headings=chunks[0].headings,
        page=chunks[0].page,
        table_header=chunks[0].table_header,
    )
    return JoinedChunks(best.found.document, chunk, best.score, tuple(one.place for one in run))


def _apart(spans: Sequence[JoinedChunks]) -> list[JoinedChunks]:
    """Return the spans with what two of a document share in the better one only."""
    kept: list[JoinedChunks] = []
    for span in spans:
        chunk = span.chunk
        for better in kept:
            if _text_of(better.document) == _text_of(span.document):
                chunk = _without(chunk, better.chunk)
        if chunk.text.strip():
            kept.append(replace(span, chunk=chunk))
    return kept


def _without(chunk: Chunk, other: Chunk) -> Chunk:
    """Return the chunk without the text that it shares with a neighbour."""
    if other.start <= chunk.start < other.end:
        text = chunk.text[other.end - chunk.start :].lstrip()
        before = chunk.text[: len(chunk.text) - len(text)]
        header = header_at(chunk.text, len(before), chunk.table_header)
        return replace(chunk, text=text, start=chunk.start + len(before), table_header=header)
    if chunk.start < other.start < chunk.end:
        text = chunk.text[: other.start - chunk.start].rstrip()
        return replace(chunk, text=text, end=chunk.start + len(text))
    return chunk
