"""The files of judgements, read line by line; an error names file and line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ...errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MAX_GRADE: Final = 100
LAYOUT: Final = "A data set in BEIR layout holds corpus.jsonl, queries.jsonl and qrels/test.tsv."


def at_line(path: Path, number: int) -> str:
    """Return file and line as errors name them."""
    return f"{path}:{number}"


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, numbered from 1. Raises InputError."""
    number = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    yield number, raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(f"{at_line(path, number)}: not in UTF-8 ({error.reason}).") from error
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}. {LAYOUT}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error


def read_rows(path: Path, *, key: str = "_id") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield place (file and line), object and id of each line. Raises for a duplicate id."""
    seen: set[str] = set()
    for number, line in read_lines(path):
        place = at_line(path, number)
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{place}: no JSON ({error}).") from error
        name = row.get(key) if isinstance(row, dict) else None
        if not isinstance(name, str | int) or name == "":
            article = "an" if key.startswith("_id") else "a"
            raise InputError(f"{place}: no JSON object with {article} {key}.")
        if (name := str(name)) in seen:
            raise InputError(f"{place}: the {key} {name!r} stands on an earlier line too.")
        seen.add(name)
        yield place, row, name


def require_text(place: str, row: Mapping[str, Any]) -> str:
    """Return the field `text` of a row. Raises InputError."""
    if not isinstance(text := row.get("text"), str):
        raise InputError(f"{place}: text is missing or no text.")
    return text
