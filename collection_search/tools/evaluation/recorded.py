"""Labelled pools of a recorded run: its pages, and a file in which a person judges them."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...errors import InputError, InvalidUrlError
from ...ranking.heuristics import PageText
from ...runtime.whole_file import write_whole
from ...text.clean import to_unicode
from ...text.urls import url_key
from .beir import Dataset, Question
from .judgement_files import MAX_GRADE, at_line, read_lines
from .pools import EvalCorpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ...cassette.recorded_pools import RecordedPool

COLUMNS: Final = ("question", "url", "grade", "title", "snippet")
"""Of a file of judgements; title and snippet help the person who judges."""
_ALIASES: Final = {"query-id": "question", "corpus-id": "url", "score": "grade"}
_FORMULA: Final = ("=", "+", "-", "@")
"""Beginnings that a spreadsheet runs as a formula: these texts come from the web."""


class _Judgement(NamedTuple):
    place: str
    question: str
    url: str
    grade: int


def judged_corpus(path: Path, pools: Sequence[RecordedPool], judgements: Path) -> EvalCorpus:
    """Return the pools of the recording `path` with the judgements of a file.

    Questions without a judgement are left out. A relevant page that the run did not find counts as
    missed. Raises InputError naming file and line.
    """
    by_question = {_folded(pool.question): pool for pool in pools}
    grades: dict[str, dict[str, int]] = {}
    for each in _read(judgements):
        key = _folded(each.question)
        if key not in by_question:
            raise InputError(
                f"{each.place}: {path.name} has no run with the question {each.question!r}. It has:"
                f" {'; '.join(pool.question for pool in pools)}."
            )
        try:
            grades.setdefault(key, {})[url_key(each.url)] = each.grade
        except InvalidUrlError as error:
            raise InputError(f"{each.place}: {error}") from error
    questions, pages = [], dict[str, PageText]()
    for key, judged in grades.items():
        found = _pages(by_question[key])
        pages |= found
        questions.append(_question(key, by_question[key], judged, found))
    if not any(question.grades for question in questions):
        raise InputError(f"{judgements} calls no page relevant (grade above 0) to any question.")
    dataset = Dataset(path, judgements.name, questions, len(questions))
    ids = [list(question.pool or ()) for question in questions]
    return EvalCorpus(dataset, pages, ids, is_given=True)


def write_template(path: Path, pools: Sequence[RecordedPool]) -> int:
    """Write the pages of the recorded runs with an empty grade, and return their number.

    A name that ends in .csv gets commas, any other one tabs. Raises InputError for a file that
    exists or cannot be written.
    """
    if path.exists():
        raise InputError(f"{path} exists already: name a new file, so that no judgement is lost.")
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if _is_csv(path) else "\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    rows = [
        (pool.question, page.url, "", _cell(page.title), _cell(page.snippet))
        for pool in pools
        for page in pool.pages
    ]
    writer.writerows(rows)
    try:
        with write_whole(path) as draft:  # a spreadsheet needs the mark to read UTF-8 from a CSV
            draft.write_text(text.getvalue(), "utf-8-sig" if _is_csv(path) else "utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}).") from error
    return len(rows)


def _question(
    key: str, pool: RecordedPool, judged: dict[str, int], found: dict[str, PageText]
) -> Question:
    return Question(
        key,
        pool.question,
        {page: grade for page, grade in judged.items() if grade > 0},
        tuple(found),
        sum(page not in judged for page in found),
    )


def _pages(pool: RecordedPool) -> dict[str, PageText]:
    return {
        url_key(page.url): PageText(title=page.title, snippet=page.snippet, url=page.url)
        for page in pool.pages
    }


def _read(path: Path) -> Iterator[_Judgement]:
    """Yield the judged rows; those with an empty grade are not judged yet."""
    columns = list(COLUMNS[:3])
    for number, row in _rows(path):
        place = at_line(path, number)
        names = [_ALIASES.get(cell.strip().lower(), cell.strip().lower()) for cell in row]
        if number == 1 and {"question", "url", "grade"} <= set(names):
            columns = names
            continue
        if len(row) < len(COLUMNS[:3]):
            raise InputError(f"{place}: {len(row)} fields instead of question, url and grade.")
        cells = dict(zip(columns, map(str.strip, row), strict=False))
        if text := cells.get("grade", ""):
            yield _Judgement(place, cells["question"], cells["url"], _grade(place, text))


def _grade(place: str, text: str) -> int:
    try:
        grade = int(text)
    except ValueError:
        grade = -1
    if not 0 <= grade <= MAX_GRADE:
        raise InputError(
            f"{place}: the grade {text!r} is no whole number from 0 (not relevant) to {MAX_GRADE}."
        )
    return grade


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with their line; the first line tells what separates the fields."""
    lines = list(read_lines(path))
    if not lines:
        raise InputError(f"{path} is empty. It needs lines of question, url and grade.")
    delimiter = next((mark for mark in "\t;," if mark in lines[0][1]), "\t")
    reader = csv.reader((text for _, text in lines), delimiter=delimiter, strict=True)
    start = 0
    try:
        for row in reader:
            yield lines[start][0], row
            start = reader.line_num
    except csv.Error as error:
        raise InputError(f"{at_line(path, lines[start][0])}: {error}.") from error


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _cell(text: Any) -> str:
    """Return the text on one line, not as a formula."""
    plain = " ".join(to_unicode(str(text)).split())
    return f"'{plain}" if plain.startswith(_FORMULA) else plain


def _folded(question: str) -> str:
    return " ".join(question.split()).casefold()
