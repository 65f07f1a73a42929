"""A labelled data set, small enough to read, in the folder layout of BEIR."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

PADDING = "Nothing here says what the page is about, it only fills the snippet. " * 4
PAGES: list[dict[str, Any]] = [
    {"_id": "cancel", "title": "Tasks", "text": "How to cancel a running task after a timeout."},
    {"_id": "late", "title": "Loops", "text": f"{PADDING} A timeout cancels the task."},
    {"_id": "tea", "title": "Tea", "text": "How to brew green tea in a pot."},
    {"_id": "houses", "title": "Häuser", "text": "Wie man die Häuser der Stadt findet."},
    {"_id": "soup", "title": "Soup", "text": "Potatoes and onions make a soup."},
]
QUESTIONS: list[dict[str, Any]] = [
    {"_id": "q1", "text": "How do I cancel a task after a timeout?"},
    {"_id": "q2", "text": "Brewing tea in pots"},
    {"_id": "q3", "text": "Wo steht das Haus in der Stadt?"},
    {"_id": "q4", "text": "Chess rules?"},
    {"_id": "q5", "text": "Nobody has judged this question about soup"},
]
JUDGEMENTS = [
    ("q1", "cancel", "2"),
    ("q1", "late", "1"),
    ("q1", "tea", "0"),
    ("q2", "tea", "1"),
    ("q3", "houses", "1"),
    ("q4", "soup", "1"),
]


def write_dataset(
    folder: Path,
    *,
    pages: list[dict[str, Any]] = PAGES,
    questions: list[dict[str, Any]] = QUESTIONS,
    judgements: list[tuple[str, str, str]] = JUDGEMENTS,
    split: str = "test",
) -> Path:
    """Write the three files and return their folder."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", pages), ("queries", questions)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    table = [("query-id", "corpus-id", "score"), *judgements]
    text = "".join("\t".join(row) + "\n" for row in table)
    (folder / "qrels" / f"{split}.tsv").write_text(text, encoding="utf-8")
    return folder
