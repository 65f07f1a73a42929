"""The part of a passage that matches the question best."""

from __future__ import annotations

from ...ranking.lexicon import stems
from ...text.clean import chunk_spans, excerpt
from ...text.headings import without_heading_marks


def best_excerpt(passage: str, question: str, *, limit: int = 240) -> str:
    """Return, in one line, the part of the passage with most of the question's words.

    It has at most `limit` characters. Of equally good parts the first is returned.

    >>> best_excerpt("Queues are first in, first out. Tasks can be cancelled.", "cancel", limit=30)
    'Tasks can be cancelled.'
    """
    passage = without_heading_marks(passage)
    wanted = {*stems(question, "en"), *stems(question, "de")}
    spans = chunk_spans(passage, size=limit, overlap=limit // 2)
    parts = [passage[start:stop] for start, stop in spans] or [passage]
    return excerpt(max(parts, key=lambda part: len(wanted & set(stems(part)))), limit)
