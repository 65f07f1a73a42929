"""The row of an exported document: its columns, and how it is made and validated."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import InputError, InvalidUrlError
from ..text.loose_keys import current_key
from ..text.urls import normalize_url
from .collection import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROW_FIELDS: Final[dict[str, tuple[type, ...]]] = {
    "url": (str,),
    "url_key": (str,),
    "title": (str,),
    "content_hash": (str,),
    "provenance": (dict,),
    "embedder": (str, type(None)),
    "chunks": (list,),
    "digest": (str,),
}
CHUNK_FIELDS: Final[dict[str, tuple[type, ...]]] = {
    "ordinal": (int,),
    "start": (int,),
    "end": (int,),
    "text": (str,),
    "vector": (list, type(None)),
}
ADDRESS_FIELDS: Final[dict[str, tuple[type, ...]]] = {"also_at": (list,)}
"""Fields that a row has only if they are known: further URLs, in alphabetical order."""
PLACE_FIELDS: Final[dict[str, tuple[type, ...]]] = {
    "headings": (list,),
    "page": (int,),
    "table_header": (str,),
}
"""Fields of a chunk that a row has only if they are known."""
RUN_IDS: Final = frozenset(
    {"invocation_id", "ingestion_run_id", "run_id", "ticket_id", "trace_id", "worker_call_id"}
)
"""Provenance that two runs with the same pages do not share; so are keys ending in `_at`, `_ms`."""
NO_PAGE: Final = "langchain:"
"""Prefix of the URL of a text that came without one; its key follows."""
_TEXT_FIELDS: Final = ("url", "url_key", "title", "content_hash")
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")
_OFF_UNIT: Final = 0.01
"""Tolerance of the length of a vector, which should be 1."""


def export_row(document: Document, chunks: Iterable[Chunk], embedder: str | None) -> dict[str, Any]:
    """Return a document with its chunks in canonical form; `embedder` made the vectors."""
    canonical = {
        **{name: getattr(document, name) for name in _TEXT_FIELDS},
        "provenance": {
            key: value
            for key, value in sorted(document.provenance.items())
            if key not in RUN_IDS and not key.endswith(("_at", "_ms"))
        },
        "embedder": embedder,
        "chunks": [
            {name: getattr(chunk, name) for name in CHUNK_FIELDS}
            | {"vector": None if chunk.vector is None else chunk.vector.tolist()}
            | _place(chunk)
            for chunk in chunks
        ],
    }
    if document.also_at:
        canonical["also_at"] = list(document.also_at)
    return {**canonical, "digest": row_digest(canonical)}


def _place(chunk: Chunk) -> dict[str, Any]:
    place = {name: getattr(chunk, name) for name in PLACE_FIELDS}
    place["headings"] = list(chunk.headings)
    return {name: value for name, value in place.items() if value}


def row_digest(row: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an exported row without its `digest`.

    >>> row_digest({"url": "u", "digest": "any"}) == row_digest({"url": "u"})
    True
    """
    rest = {key: value for key, value in row.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


class RowValidator:
    """A validator of the rows of one file, single and together."""

    def __init__(self) -> None:
        self.embedder: str | None = None
        """Of all rows; known after the first."""
        self._keys: set[str] = set()
        self._size: int | None = None

    def validate(self, row: Mapping[str, Any]) -> tuple[Document, list[Chunk]]:
        """Return the row's document with its chunks. Raises InputError with the reason.

        The document has the key that its URL has today: earlier versions made it otherwise.
        """
        known = {field: kinds for field, kinds in ADDRESS_FIELDS.items() if field in row}
        _validate_fields(row, ROW_FIELDS | known, "the document")
        if row_digest(row) != row["digest"]:
            raise InputError("the digest does not fit, so the row was damaged or changed")
        _validate_texts(row)
        if not self._keys:
            self.embedder = row["embedder"]
        elif row["embedder"] != self.embedder:
            raise InputError(f"the embedder is {row['embedder']}, before it was {self.embedder}")
        if row["url_key"] in self._keys:
            raise InputError(f"the page {row['url_key']} came before")
        self._keys.add(row["url_key"])
        chunks = [self._chunk(n, chunk) for n, chunk in enumerate(row["chunks"])]
        return _document(row), chunks

    def _chunk(self, number: int, chunk: Any) -> Chunk:
        name = f"chunk {number}"
        if not isinstance(chunk, dict):
            raise InputError(f"{name} is no object")
        place = {field: kinds for field, kinds in PLACE_FIELDS.items() if field in chunk}
        _validate_fields(chunk, CHUNK_FIELDS | place, name)
        start, end, text = chunk["start"], chunk["end"], chunk["text"]
        if chunk["ordinal"] != number:
            raise InputError(f"{name} has the ordinal {chunk['ordinal']}")
        if start < 0 or end - start != len(text):
            raise InputError(f"the offsets {start} to {end} of {name} do not fit its text")
        headings, page = chunk.get("headings", ()), chunk.get("page")
        if not all(isinstance(heading, str) for heading in headings):
            raise InputError(f"a heading of {name} is no text")
        if page is not None and page < 1:
            raise InputError(f"{name} begins on page {page}")
        vector = self._vector(name, chunk["vector"])
        header = chunk.get("table_header")
        if header is not None and not header.strip():
            raise InputError(f"the table header of {name} is empty")
        return Chunk(number, text, start, end, vector, tuple(headings), page, header)

    def _vector(self, name: str, numbers: list[Any] | None) -> Any:
        if (numbers is None) != (self.embedder is None):
            raise InputError(f"{name} needs a vector if there is an embedder, and only then")
        if numbers is None:
            return None
        if not all(type(one) in {int, float} and math.isfinite(one) for one in numbers):
            raise InputError(f"the vector of {name} holds something else than numbers")
        self._size = self._size or len(numbers)
        if len(numbers) != self._size or not numbers:
            raise InputError(f"the vector of {name} has {len(numbers)} numbers, not {self._size}")
        vector = np.asarray(numbers, dtype=np.float32)
        length = float(np.linalg.norm(vector))
        if length and abs(length - 1) > _OFF_UNIT:
            raise InputError(f"the vector of {name} has the length {length:.3g}, not 1")
        if vector.tolist() != numbers:
            raise InputError(f"the vector of {name} holds numbers that are no float32")
        return vector


def _document(row: Mapping[str, Any]) -> Document:
    return Document(
        url=row["url"],
        url_key=current_key(row["url"], row["url_key"]),
        title=row["title"],
        content_hash=row["content_hash"],
        provenance=row["provenance"],
        also_at=tuple(row.get("also_at", ())),
    )


def _validate_fields(
    found: Mapping[str, Any], known: Mapping[str, tuple[type, ...]], name: str
) -> None:
    for field, kinds in known.items():
        if field not in found:
            raise InputError(f"{name} has no {field}")
        if type(found[field]) not in kinds:
            raise InputError(f"{field} of {name} is of a wrong kind: {found[field]!r:.40}")
    if extra := sorted(set(found) - set(known)):
        raise InputError(f"{name} has an unknown field {extra[0]!r}")


def _validate_texts(row: Mapping[str, Any]) -> None:
    try:
        json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise InputError(f"a text or number cannot be stored ({error})") from error
    if not _SHA256.match(row["content_hash"]):
        raise InputError(f"content_hash is no SHA-256: {row['content_hash']!r:.80}")
    if not row["url_key"]:
        raise InputError("url_key is empty")
    also_at = row.get("also_at", [])
    if not all(isinstance(url, str) for url in also_at):
        raise InputError("a further address is no text")
    own = [] if row["url"] == f"{NO_PAGE}{row['url_key']}" else [row["url"]]
    try:
        for url in (*own, *also_at):
            normalize_url(url)
    except InvalidUrlError as error:
        raise InputError(str(error).rstrip(".")) from error
