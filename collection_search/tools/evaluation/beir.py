"""Labelled data sets in the folder layout of BEIR, read from disk.

A folder holds `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and
`qrels/SPLIT.tsv` (`query-id`, `corpus-id`, `score`, separated by tabs, below one header line).

Where it also holds `pools.jsonl` (`query-id`, `pool`: ids of pages in the order shown), exactly
these pages are ranked for each question, and no search is made.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ...errors import InputError
from .judgement_files import LAYOUT, MAX_GRADE, at_line, read_lines, read_rows, require_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

SPLITS: Final = ("test", "dev", "train")
"""Names of the judgements, in order of preference."""
_JUDGEMENT: Final = 3
"""Fields of a line of judgements."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One page of the corpus."""

    id: str
    title: str
    text: str
    url: str
    """Its address, or empty."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its relevant pages."""

    id: str
    text: str
    grades: Mapping[str, int]
    """Id of each relevant page -> how relevant it is, 1 to 100."""
    pool: tuple[str, ...] | None = None
    """Ids of the pages to rank, in the order shown; None: a search finds them."""
    unjudged: int = 0
    """Pages of this pool of which no judgement says anything: they count as not relevant."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """The questions of a data set; its corpus stays on disk."""

    folder: Path
    """Its folder; of a recorded run the file."""
    split: str
    questions: list[Question]
    """Those that are asked, in the order of the file."""
    total: int
    """Questions of the split that have a relevant page, or a pool."""

    @property
    def name(self) -> str:
        """Return the name of the folder or file."""
        return self.folder.resolve().name

    @property
    def has_pools(self) -> bool:
        """Return whether the pages to rank are given, so that nothing is searched."""
        return any(question.pool is not None for question in self.questions)

    def size(self) -> int:
        """Return the number of pages, counted anew. Raises InputError."""
        return sum(1 for _ in read_lines(self.folder / "corpus.jsonl"))

    def entries(self) -> Iterator[Entry]:
        """Yield the corpus page by page. Raises InputError naming file and line."""
        for place, row, key in read_rows(self.folder / "corpus.jsonl"):
            metadata = row.get("metadata")
            url = metadata.get("url") if isinstance(metadata, dict) else None
            is_address = isinstance(url, str) and url.startswith(("http://", "https://"))
            title = row.get("title") or ""
            if not isinstance(title, str):
                raise InputError(f"{place}: title is no text.")
            yield Entry(key, title, require_text(place, row), str(url) if is_address else "")


def load_dataset(
    folder: Path, *, split: str | None = None, limit: int = 300, seed: int = 0
) -> Dataset:
    """Return the data set with at most `limit` of its questions, drawn by the seed.

    The default split is the first of test, dev and train that exists. Raises InputError that names
    file and line.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}. {LAYOUT}")
    judgements = _judgements_file(folder, split)
    grades, pools = _grades(judgements), _pools(folder / "pools.jsonl")
    path = folder / "queries.jsonl"
    known = [(key, require_text(place, row)) for place, row, key in read_rows(path)]
    _require_known(judgements, _relevant(grades) - {key for key, _ in known}, path)
    _require_known(folder / "pools.jsonl", set(pools or ()) - {key for key, _ in known}, path)
    asked = [
        _question(key, text, grades.get(key, {}), (pools or {}).get(key))
        for key, text in known
        if key in (_relevant(grades) if pools is None else pools)
    ]
    if not any(question.grades for question in asked):
        raise InputError(f"{judgements} calls no page relevant (score above 0) to any question.")
    drawn = np.random.default_rng(seed).permutation(len(asked))[:limit]
    return Dataset(folder, judgements.stem, [asked[i] for i in sorted(drawn)], len(asked))


def _question(
    key: str, text: str, judged: Mapping[str, int], pool: Sequence[str] | None
) -> Question:
    return Question(
        key,
        text,
        {page: grade for page, grade in judged.items() if grade > 0},
        None if pool is None else tuple(pool),
        sum(page not in judged for page in pool or ()),
    )


def _relevant(grades: Mapping[str, Mapping[str, int]]) -> set[str]:
    """Return the questions that have a relevant page."""
    return {key for key, judged in grades.items() if any(grade > 0 for grade in judged.values())}


def _require_known(path: Path, unknown: set[str], questions: Path) -> None:
    if unknown:
        raise InputError(
            f"{path} names the question {min(unknown)!r}, which {questions} does not hold."
        )


def _pools(path: Path) -> dict[str, list[str]] | None:
    """Return the pages to rank by question; None where the file does not exist."""
    if not path.is_file():
        return None
    pools = {}
    for place, row, key in read_rows(path, key="query-id"):
        pool = row.get("pool")
        if not isinstance(pool, list) or not all(isinstance(each, str | int) for each in pool):
            raise InputError(f"{place}: pool is no list of the ids of pages.")
        pools[key] = list(dict.fromkeys(map(str, pool)))
    if not pools:
        raise InputError(f"{path} holds no pool. Delete the file to search the corpus instead.")
    return pools


def _judgements_file(folder: Path, split: str | None) -> Path:
    wanted = SPLITS if split is None else (split,)
    for name in wanted:
        if (path := folder / "qrels" / f"{name}.tsv").is_file():
            return path
    known = sorted(path.stem for path in folder.glob("qrels/*.tsv"))
    there = f"There: {', '.join(known)}." if known else LAYOUT
    raise InputError(f"{folder} holds no qrels/{wanted[0]}.tsv. {there}")


def _grades(path: Path) -> dict[str, dict[str, int]]:
    """Return the grades by question and page; 0 and less is not relevant."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in read_lines(path):
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) != _JUDGEMENT:
            raise InputError(
                f"{at_line(path, number)}: {len(fields)} fields instead of query-id, corpus-id"
                " and score, separated by tabs."
            )
        question, page, score = fields
        grade = None
        with suppress(ValueError):
            grade = int(score)
        if grade is None and number == 1:
            continue
        if grade is None or grade > MAX_GRADE:
            raise InputError(
                f"{at_line(path, number)}: the score {score!r} is no whole number up to"
                f" {MAX_GRADE}."
            )
        grades.setdefault(question, {})[page] = grade
    return grades
