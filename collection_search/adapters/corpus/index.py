"""The full-text index of the corpus: one SQLite file, replaced in one step.

Pages are ranked by their best passages, so that long pages have no advantage. The index contains
word stems only; the text of a page is stored once.
"""

from __future__ import annotations

import math
import sqlite3
import zlib
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...ranking.lexicon import index_text, match_query
from ...runtime.private_files import create_private
from ...text.clean import chunk_spans, to_unicode
from ...text.headings import heading_paths
from .snippet import best_excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .entry import CorpusPage

VERSION: Final = 2
"""Increase it when the schema or the indexing changes: indexes are then rebuilt."""

_SCHEMA: Final = """
    CREATE TABLE meta (fingerprint TEXT NOT NULL);
    CREATE TABLE page (
        id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, title TEXT NOT NULL, text BLOB NOT NULL,
        factor REAL NOT NULL
    );
    CREATE TABLE passage (
        id INTEGER PRIMARY KEY, page INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL
    );
    CREATE VIRTUAL TABLE words USING fts5 (
        title, text, content='',
        tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mc Mn'"
    );
"""
_SEARCH: Final = """
    SELECT page, start, stop, -bm25(words, 3.0, 1.0) AS relevance
    FROM words JOIN passage ON passage.id = words.rowid
    WHERE words MATCH ? ORDER BY relevance DESC, words.rowid LIMIT 2000
"""
_PASSAGE_CHARS: Final = 1200
_PASSAGE_SHARES: Final = (1.0, 0.3, 0.09)
"""Weights of a page's best, second and third passage in its relevance."""
_LENGTH_PENALTY: Final = 0.06
"""A page of many passages is more likely to have a good one by accident."""

DAMAGE: Final = (sqlite3.Error, zlib.error, ValueError, TypeError, LookupError)
"""Errors from reading a damaged file."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found."""

    url: str
    title: str
    text: str
    snippet: str
    """The passage that matches the question best, in one line."""
    score: float
    """Relevance relative to the best page of the same answer, above 0 and up to 1."""


def write_index(path: Path, fingerprint: str, pages: Iterable[CorpusPage]) -> None:
    """Build the index in a new file, and then replace `path` with it in one step.

    The caller must prevent two builds at once. Of two pages with one address the first is used.
    Raises OSError and sqlite3.Error.
    """
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    try:
        _fill(draft, fingerprint, pages)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _fill(draft: Path, fingerprint: str, pages: Iterable[CorpusPage]) -> None:
    create_private(draft)
    with closing(sqlite3.connect(draft, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = OFF")  # the draft is deleted if anything fails
        db.execute("PRAGMA synchronous = OFF")
        db.executescript(_SCHEMA)
        db.execute("BEGIN")
        db.execute("INSERT INTO meta VALUES (?)", (fingerprint,))
        for page in pages:
            _insert(db, page)
        db.execute("COMMIT")


def _insert(db: sqlite3.Connection, page: CorpusPage) -> None:
    title, text = to_unicode(page.title), to_unicode(page.text)
    spans = chunk_spans(text, size=_PASSAGE_CHARS, overlap=0)
    factor = page.weight / (1 + _LENGTH_PENALTY * math.log(len(spans) or 1))
    added = db.execute(
        "INSERT OR IGNORE INTO page (url, title, text, factor) VALUES (?, ?, ?, ?)",
        (page.url, title, zlib.compress(text.encode()), factor),
    )
    if not added.rowcount:
        return
    title_stems = index_text(title)
    for (start, stop), headings in zip(spans, heading_paths(text, spans), strict=True):
        passage = db.execute(
            "INSERT INTO passage (page, start, stop) VALUES (?, ?, ?)",
            (added.lastrowid, start, stop),
        )
        db.execute(
            "INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)",
            (passage.lastrowid, title_stems, index_text(" ".join([*headings, text[start:stop]]))),
        )


def read_fingerprint(path: Path) -> str | None:
    """Return the fingerprint of the index, or None if it is missing or damaged."""
    try:
        with closing(open_read_only(path)) as db:
            sound = db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
            (fingerprint,) = db.execute("SELECT fingerprint FROM meta").fetchone()
    except (sqlite3.Error, TypeError):
        return None
    return str(fingerprint) if sound else None


def search_index(path: Path, question: str, limit: int) -> list[Hit]:
    """Return up to `limit` pages that contain words of the question, most relevant first.

    Raises one of `DAMAGE` when the file is damaged or missing.
    """
    query = match_query(question)
    if not query:
        return []
    with closing(open_read_only(path)) as db:
        matches = _matches(db, query)[:limit]
        best = matches[0][0] if matches else 1.0
        return [_hit(db, match, question, relevance / best) for relevance, match in matches]


def open_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that cannot write and does not create the file."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


@dataclass(slots=True)
class _Match:
    """A page that contains words of the question."""

    page: int
    start: int
    stop: int
    """Span of its best passage."""
    relevances: list[float]
    """Of its passages, best first."""

    def relevance(self) -> float:
        pairs = zip(self.relevances, _PASSAGE_SHARES, strict=False)
        return sum(relevance * share for relevance, share in pairs)


def _matches(db: sqlite3.Connection, query: str) -> list[tuple[float, _Match]]:
    """Return pages with their relevance, most relevant first."""
    found: dict[int, _Match] = {}
    for page, start, stop, relevance in db.execute(_SEARCH, (query,)):
        found.setdefault(page, _Match(page, start, stop, [])).relevances.append(relevance)
    factors = dict(db.execute("SELECT id, factor FROM page"))
    ranked = [(factors[match.page] * match.relevance(), match) for match in found.values()]
    return sorted(ranked, key=lambda pair: (-pair[0], pair[1].page))


def _hit(db: sqlite3.Connection, match: _Match, question: str, score: float) -> Hit:
    row = db.execute("SELECT url, title, text FROM page WHERE id = ?", (match.page,))
    url, title, packed = row.fetchone()
    text = zlib.decompress(packed).decode()
    snippet = best_excerpt(text[match.start : match.stop], question)
    return Hit(url, title, text, snippet, score)
