"""Labelled data sets in the folder layout of BEIR, read from disk.

A folder holds `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and
`qrels/SPLIT.tsv` (`query-id`, `corpus-id`, `score`, separated by tabs, below one header line).
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SPLITS: Final = ("test", "dev", "train")
"""Names of the judgements, in order of preference."""
MAX_GRADE: Final = 100
_LAYOUT: Final = "A data set in BEIR layout holds corpus.jsonl, queries.jsonl and qrels/test.tsv."
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


@dataclass(frozen=True, slots=True)
class Dataset:
    """The questions of a data set; its corpus stays on disk."""

    folder: Path
    split: str
    questions: list[Question]
    """Those that are asked, in the order of the file."""
    total: int
    """Questions of the split that have a relevant page."""

    @property
    def name(self) -> str:
        """Return the name of the folder."""
        return self.folder.resolve().name

    def size(self) -> int:
        """Return the number of pages, counted anew. Raises InputError."""
        return sum(1 for _ in _lines(self.folder / "corpus.jsonl"))

    def entries(self) -> Iterator[Entry]:
        """Yield the corpus page by page. Raises InputError naming file and line."""
        for place, row, key in _rows(self.folder / "corpus.jsonl"):
            metadata = row.get("metadata")
            url = metadata.get("url") if isinstance(metadata, dict) else None
            is_address = isinstance(url, str) and url.startswith(("http://", "https://"))
            title = row.get("title") or ""
            if not isinstance(title, str):
                raise InputError(f"{place}: title is no text.")
            yield Entry(key, title, _text(place, row), str(url) if is_address else "")


def load_dataset(
    folder: Path, *, split: str | None = None, limit: int = 300, seed: int = 0
) -> Dataset:
    """Return the data set with at most `limit` of its questions, drawn by the seed.

    The default split is the first of test, dev and train that exists. Raises InputError that names
    file and line.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}. {_LAYOUT}")
    judgements = _judgements_file(folder, split)
    grades = _grades(judgements)
    path = folder / "queries.jsonl"
    asked = [
        Question(key, _text(place, row), grades.pop(key))
        for place, row, key in _rows(path)
        if key in grades
    ]
    if grades:
        raise InputError(
            f"{judgements} judges the question {next(iter(grades))!r}, which {path} does not hold."
        )
    if not asked:
        raise InputError(f"{judgements} calls no page relevant (score above 0) to any question.")
    drawn = np.random.default_rng(seed).permutation(len(asked))[:limit]
    return Dataset(folder, judgements.stem, [asked[i] for i in sorted(drawn)], len(asked))


def _judgements_file(folder: Path, split: str | None) -> Path:
    wanted = SPLITS if split is None else (split,)
    for name in wanted:
        if (path := folder / "qrels" / f"{name}.tsv").is_file():
            return path
    known = sorted(path.stem for path in folder.glob("qrels/*.tsv"))
    there = f"There: {', '.join(known)}." if known else _LAYOUT
    raise InputError(f"{folder} holds no qrels/{wanted[0]}.tsv. {there}")


def _grades(path: Path) -> dict[str, dict[str, int]]:
    """Return the grades of the relevant pages by question."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) != _JUDGEMENT:
            raise InputError(
                f"{path}:{number}: {len(fields)} fields instead of query-id, corpus-id and score,"
                " separated by tabs."
            )
        question, page, score = fields
        grade = None
        with suppress(ValueError):
            grade = int(score)
        if grade is None and number == 1:
            continue
        if grade is None or grade > MAX_GRADE:
            raise InputError(
                f"{path}:{number}: the score {score!r} is no whole number up to {MAX_GRADE}."
            )
        if grade > 0:
            grades.setdefault(question, {})[page] = grade
    return grades


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield place (file and line), object and id of each line. Raises for a duplicate id."""
    seen: set[str] = set()
    for number, line in _lines(path):
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{place}: no JSON ({error}).") from error
        key = row.get("_id") if isinstance(row, dict) else None
        if not isinstance(key, str | int) or key == "":
            raise InputError(f"{place}: no JSON object with an _id.")
        if (key := str(key)) in seen:
            raise InputError(f"{place}: the _id {key!r} stands on an earlier line too.")
        seen.add(key)
        yield place, row, key


def _text(place: str, row: Mapping[str, Any]) -> str:
    if not isinstance(text := row.get("text"), str):
        raise InputError(f"{place}: text is missing or no text.")
    return text


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, numbered from 1."""
    place = str(path)
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                place = f"{path}:{number}"
                if raw.strip():
                    yield number, raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not in UTF-8 ({error.reason}).") from error
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}. {_LAYOUT}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
