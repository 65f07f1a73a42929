"""Decisions of people as a labelled data set, in the folder layout of BEIR."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...runtime.whole_file import write_whole_folder
from ...text.clean import to_unicode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from .history import DecidedPage, PersonDecision

_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")
_HEADER: Final = "query-id\tcorpus-id\tscore"


@dataclass(frozen=True, slots=True)
class JudgementCounts:
    """What a data set of decisions holds."""

    questions: int
    """One per review, since each shows pages of its own."""
    answerable: int
    """Those with an approved page."""
    pages: int
    approved: int
    rejected: int


def write_judgements(decisions: Sequence[PersonDecision], folder: Path) -> JudgementCounts:
    """Write the decisions into a new folder, whole or not at all, and return what it holds.

    `corpus.jsonl` has each page as it was shown: its id is made of address, title and snippet, so
    that it is the same in every export. `queries.jsonl` has the question of each review under the
    review's id. `qrels/test.tsv` grades approved pages 1 and rejected ones 0. A page that the
    collection had already, or that criteria or rules refused, has no grade unless it was approved.
    `pools.jsonl` lists the pages of each review in the order in which they were shown. Raises
    OSError, also for a folder with files.
    """
    corpus = {_page_id(page): _page(page) for each in decisions for page in each.pages}
    grades = [
        (_query_id(each.gate_id), _page_id(page), int(page.is_approved))
        for each in decisions
        for page in each.pages
        if page.is_approved is not None
    ]
    with write_whole_folder(folder) as draft:
        (draft / "qrels").mkdir()
        _write_lines(draft / "corpus.jsonl", map(json.dumps, corpus.values()))
        _write_lines(draft / "queries.jsonl", (json.dumps(_query(each)) for each in decisions))
        _write_lines(draft / "pools.jsonl", (json.dumps(_pool(each)) for each in decisions))
        lines = ("\t".join(map(str, grade)) for grade in grades)
        _write_lines(draft / "qrels" / "test.tsv", [_HEADER, *lines])
    approved = sum(grade for _, _, grade in grades)
    return JudgementCounts(
        questions=len(decisions),
        answerable=len({query for query, _, grade in grades if grade}),
        pages=len(corpus),
        approved=approved,
        rejected=len(grades) - approved,
    )


def _page(page: DecidedPage) -> dict[str, Any]:
    return {
        "_id": _page_id(page),
        "title": to_unicode(page.title),
        "text": to_unicode(page.snippet),
        "metadata": {"url": to_unicode(page.url)},
    }


def _query(decision: PersonDecision) -> dict[str, Any]:
    metadata = {"collection": decision.collection, "decided_at": decision.decided_at}
    return {
        "_id": _query_id(decision.gate_id),
        "text": to_unicode(decision.question),
        "metadata": metadata,
    }


def _pool(decision: PersonDecision) -> dict[str, Any]:
    shown = [_page_id(page) for page in decision.pages]
    return {"query-id": _query_id(decision.gate_id), "pool": shown}


def _page_id(page: DecidedPage) -> str:
    return _hashed("page", page.url, page.title, page.snippet)


def _query_id(gate_id: str) -> str:
    """Return the review's id; one that could break a line of judgements is replaced."""
    return gate_id if _PLAIN_ID.fullmatch(gate_id) else _hashed("review", gate_id)


def _hashed(kind: str, *parts: str) -> str:
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return f"{kind}-{digest[:24]}"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
