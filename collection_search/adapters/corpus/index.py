"""The full-text index of the corpus: one SQLite file, replaced in one step.

Pages are ranked by their best passages, so that long pages have no advantage. The index contains
word stems only; the text of a page is stored once.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...ranking.lexicon import index_text, match_query
from ...runtime.private_files import create_private
from ...text.clean import chunk_spans, to_unicode
from ...text.headings import heading_paths
from .snippet import best_excerpt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from .entry import CorpusPage

VERSION: Final = 3
"""Increase it when the schema or the indexing changes: indexes are then rebuilt."""

_SCHEMA: Final = """
    CREATE TABLE meta (fingerprint TEXT NOT NULL);
    CREATE TABLE page (
        id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, title TEXT NOT NULL, text BLOB NOT NULL,
        factor REAL NOT NULL, reader TEXT
    );
    CREATE TABLE reader (key TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE left_out (url TEXT PRIMARY KEY) WITHOUT ROWID;
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


class OverlappingPagesError(Exception):
    """Two pages have one address: which one counts depends on the order of all pages."""


@contextmanager
def draft_of(path: Path, fingerprint: str, *, keeps_pages: bool = False) -> Iterator[IndexDraft]:
    """Give a new index, or a copy of the one at `path`; then replace `path` with it in one step.

    The caller must prevent two builds at once. Nothing is replaced when the block raises. Raises
    OSError and sqlite3.Error, and what `IndexDraft` raises.
    """
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    try:
        create_private(draft)
        if keeps_pages:
            shutil.copyfile(path, draft)
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = OFF")  # the draft is deleted if anything fails
            db.execute("PRAGMA synchronous = OFF")
            if not keeps_pages:
                db.executescript(_SCHEMA)
            db.execute("BEGIN")
            db.execute("DELETE FROM meta")
            db.execute("INSERT INTO meta VALUES (?)", (fingerprint,))
            yield IndexDraft(db, is_copy=keeps_pages)
            db.execute("COMMIT")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


class IndexDraft:
    """An index that is being written. A page has the key of its reader, if that has one."""

    def __init__(self, db: sqlite3.Connection, *, is_copy: bool) -> None:
        self._db = db
        self._is_copy = is_copy
        self._keys = {key for (key,) in db.execute("SELECT key FROM reader")}

    def keep(self, keys: Collection[str]) -> frozenset[str]:
        """Remove the pages of other readers; return the keys of those that have been read.

        Raises OverlappingPagesError when a page was left out whose address is free then.
        """
        gone = self._keys.difference(keys)
        wanted = json.dumps([*self._keys - gone])
        self._db.execute(
            "DELETE FROM reader WHERE key NOT IN (SELECT value FROM json_each(?))", (wanted,)
        )
        for page in self._db.execute(
            "SELECT id, url, title, text FROM page"
            " WHERE reader IS NULL OR reader NOT IN (SELECT value FROM json_each(?))",
            (wanted,),
        ).fetchall():
            self._remove(*page)
        self._keys -= gone
        return frozenset(self._keys)

    def add(self, page: CorpusPage | None, key: str | None = None) -> None:
        """Add what a reader has read; a page whose address is known is left out.

        Raises OverlappingPagesError for such a page in a copy.
        """
        if key is not None:
            self._db.execute("INSERT OR IGNORE INTO reader VALUES (?)", (key,))
        if page is None:
            return
        title, text = to_unicode(page.title), to_unicode(page.text)
        spans = chunk_spans(text, size=_PASSAGE_CHARS, overlap=0)
        factor = page.weight / (1 + _LENGTH_PENALTY * math.log(len(spans) or 1))
        added = self._db.execute(
            "INSERT OR IGNORE INTO page (url, title, text, factor, reader) VALUES (?, ?, ?, ?, ?)",
            (page.url, title, zlib.compress(text.encode()), factor, key),
        )
        if not added.rowcount:
            if self._is_copy:
                raise OverlappingPagesError(page.url)
            self._db.execute("INSERT OR IGNORE INTO left_out VALUES (?)", (page.url,))
            return
        for (start, stop), words in zip(spans, _words(title, text, spans), strict=True):
            passage = self._db.execute(
                "INSERT INTO passage (page, start, stop) VALUES (?, ?, ?)",
                (added.lastrowid, start, stop),
            )
            self._db.execute(
                "INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)",
                (passage.lastrowid, *words),
            )

    def _remove(self, page: int, url: str, title: str, packed: bytes) -> None:
        if self._db.execute("SELECT 1 FROM left_out WHERE url = ?", (url,)).fetchone():
            raise OverlappingPagesError(url)
        text = zlib.decompress(packed).decode()
        passages = self._db.execute(
            "SELECT id, start, stop FROM passage WHERE page = ? ORDER BY id", (page,)
        ).fetchall()
        spans = [(start, stop) for _, start, stop in passages]
        for (passage, _, _), words in zip(passages, _words(title, text, spans), strict=True):
            self._db.execute(  # the index has no texts: it is told the words that it loses
                "INSERT INTO words (words, rowid, title, text) VALUES ('delete', ?, ?, ?)",
                (passage, *words),
            )
        self._db.execute("DELETE FROM passage WHERE page = ?", (page,))
        self._db.execute("DELETE FROM page WHERE id = ?", (page,))


def _words(title: str, text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    """Yield the stems of title and text of each passage."""
    title_stems = index_text(title)
    for (start, stop), headings in zip(spans, heading_paths(text, spans), strict=True):
        yield title_stems, index_text(" ".join([*headings, text[start:stop]]))


def can_be_updated(fingerprint: str | None) -> bool:
    """Return whether pages may be kept of the index that has this fingerprint."""
    return fingerprint is not None and fingerprint.startswith(f"{VERSION} ")


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
