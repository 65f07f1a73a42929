"""One page on its way into a collection."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import pytest

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.embedded_text import has_titles
from collection_search.contracts.ingestion import Claim, IngestionItem, IngestionRequest
from collection_search.contracts.page import ReadPage, Validators
from collection_search.errors import ExtractionError, FetchError, StoreError
from collection_search.settings.page_parsers import PageParsers
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.tools.ingestion.criteria_models import CriteriaModels
from collection_search.tools.ingestion.embedders import Embedders, bind_to
from collection_search.tools.ingestion.failures import has_vanished, is_gone_for_good
from collection_search.tools.ingestion.pipeline import PageWork
from collection_search.tools.ingestion.store_retry import StoreRetry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.ports import Embedder

SCOPE = TenantScope("local", "docs")
URL = "https://e.com/a"


class Watched(str):  # noqa: SLOT000 - it notes something
    """A text that knows which threads work on all of it."""

    threads: set[int]

    def __new__(cls, text: str) -> Self:
        watched = super().__new__(cls, text)
        watched.threads = set()
        return watched

    def _seen(self) -> str:
        self.threads.add(threading.get_ident())
        return str.__str__(self)

    def isascii(self) -> bool:
        return self._seen().isascii()

    def encode(self, *how: Any, **more: Any) -> bytes:
        return self._seen().encode(*how, **more)

    def __getitem__(self, place: Any) -> str:
        return self._seen()[place]


class OnePage:
    """A reader that knows one text."""

    def __init__(self, text: str, **facts: Any) -> None:
        self.text = text
        self.facts = facts

    async def read(self, url: str, **known: Any) -> ReadPage:
        self.known = known
        page = ReadPage(url, url, None, "Tea", self.text, "html", Validators(), "b" * 64, 0.0, 200)
        return replace(page, **self.facts)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "collections.db")
    yield store
    store.close()


async def ingest(
    store: SQLiteStore,
    text: str,
    *,
    again: bool = False,
    embedder: Embedder | None = None,
    **facts: Any,
) -> dict[str, Any]:
    """Bring a page with this text into the collection, as a worker does."""
    request = IngestionRequest(SCOPE, [IngestionItem(URL, "e.com/a", "A")])
    ticket = store.ledger.refetch(SCOPE) if again else store.ledger.enqueue(request)
    assert ticket.count == 1
    claim = store.ledger.claim("worker", lease_s=60, fetch=True)
    assert claim is not None
    work = work_of(store, Settings(chunk_chars=1000), embedder)
    return dict(await work.ingest(claim, OnePage(text, **facts)))


def work_of(store: SQLiteStore, settings: Settings, embedder: Embedder | None = None) -> PageWork:
    embedders, retry = Embedders(store.collections, settings), StoreRetry(lambda: True)
    embedders.add(embedder)
    return PageWork(
        store, settings, embedders, asyncio.Semaphore(1), retry, CriteriaModels(settings)
    )


@pytest.mark.slow
async def test_a_long_text_is_not_worked_on_in_the_loop(store: SQLiteStore) -> None:
    """Neither when it is new nor when it is looked at again."""
    for again in (False, True):
        text = Watched("Tee für alle. " * 50_000)
        done = await ingest(store, text, again=again)
        assert (done["changed"], done["chars"]) == (not again, len(text))
        assert text.threads
        assert threading.get_ident() not in text.threads


@pytest.mark.slow
async def test_the_hash_is_that_of_the_stored_text(store: SQLiteStore) -> None:
    """Of the whole, wherever it is cut; broken characters are as they are stored."""
    text = "é\ud800" * 300_000
    await ingest(store, text)
    (stored,) = store.collections.get(SCOPE, ["e.com/a"])
    expected = text.encode(errors="replace")
    assert stored.document.content_hash == hashlib.sha256(expected).hexdigest()
    last = stored.chunks[-1]
    assert (last.end, last.text) == (len(text), expected.decode()[last.start :])
    assert [chunk.ordinal for chunk in stored.chunks] == list(range(len(stored.chunks)))


async def test_chunks_know_their_section_and_page(store: SQLiteStore) -> None:
    """Comments in code make no section; a form feed begins a page and is no part of a text."""
    part = "Words of a paragraph. " * 30
    text = f"# Tea\n{part}\n\f\n## Green\n{part}\n\n```\n# steam\n```\n\n{part}\f{part}"
    await ingest(store, text)
    (stored,) = store.collections.get(SCOPE, ["e.com/a"])
    places = [(chunk.headings, chunk.page) for chunk in stored.chunks]
    assert places[0] == (("Tea",), 1)
    assert places[-1][0] == ("Tea", "Green")
    assert {headings for headings, _ in places} == {("Tea",), ("Tea", "Green")}
    assert [page for _, page in places] == sorted(page or 0 for _, page in places)
    assert max(page or 0 for _, page in places) > 1
    assert "\f" not in "".join(chunk.text for chunk in stored.chunks)
    for chunk in stored.chunks:
        assert chunk.text == text[chunk.start : chunk.end].replace("\f", "\n")


async def test_later_chunks_of_a_table_know_its_header(store: SQLiteStore) -> None:
    """No row is cut in two, and the chunk that begins with the table has the header itself."""
    header = "| Ship | Launched | Fate |"
    rows = [f"| Ship {n} | {1500 + n} | It sailed. Then it sank. |" for n in range(80)]
    text = "\n".join(
        ["# Ships", "All of them.", "", header, "|---|---|---|", *rows, "", "The end."]
    )
    await ingest(store, text)
    (stored,) = store.collections.get(SCOPE, ["e.com/a"])
    first, *later = stored.chunks
    assert (first.table_header, header in first.text) == (None, True)
    assert {chunk.table_header for chunk in later} == {header}
    assert len(later) >= 3
    for chunk in later:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.startswith("| Ship")
        assert chunk.whole_text.startswith(f"{header}\n| Ship")
    assert all(chunk.text.endswith("|") for chunk in stored.chunks[:-1])


async def test_pages_that_were_not_read_are_told(store: SQLiteStore) -> None:
    """By the document's provenance, until all of it was read."""
    for last in (2_000, None):
        await ingest(store, f"Tea {last}.", again=last is None, truncated_at_page=last)
        (stored,) = store.collections.get(SCOPE, ["e.com/a"])
        assert stored.document.provenance.get("truncated_at_page") == last


async def test_another_parser_reads_a_page_anew(store: SQLiteStore) -> None:
    """Whatever the site says of changes; from then on the page is known again."""
    request = IngestionRequest(SCOPE, [IngestionItem(URL, "e.com/a", "A")])
    store.ledger.enqueue(request)
    first, ours = Settings(), Settings(parsers=PageParsers(pdf="our_ocr:read"))
    others = Settings(parsers=PageParsers(html="our_html:read"))
    asked = []
    for settings in (first, first, ours, ours, others, others):
        claim = store.ledger.claim("worker", lease_s=60, fetch=True)
        assert claim is not None
        reader = OnePage("Tea.", kind="pdf", validators=Validators('"1"'))
        await work_of(store, settings).ingest(claim, reader)
        asked.append(reader.known)
        store.ledger.refetch(SCOPE)
    known = {"validators": Validators('"1"'), "content_hash": "b" * 64}
    assert asked[1:] == [known, {}, known, {}, known]


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "earlier version"])
async def test_chunks_are_embedded_with_the_title_of_their_page(
    store: SQLiteStore, *, is_new: bool
) -> None:
    """As candidates are; a collection that an earlier version filled goes on without titles."""
    embedder = ScriptedEmbedder()
    if is_new:
        bind_to(store.collections, SCOPE, embedder)
    else:
        store.collections.bind_embedder(SCOPE, embedder.fingerprint)
        bind_to(store.collections, SCOPE, embedder)
    await ingest(store, "Pour it over the leaves.", embedder=embedder)
    expected = "Tea\nPour it over the leaves." if is_new else "Pour it over the leaves."
    assert embedder.calls == [[expected]]
    (stored,) = store.collections.get(SCOPE, ["e.com/a"])
    assert stored.chunks[0].text == "Pour it over the leaves."
    assert has_titles(store.collections.embedder(SCOPE) or "") == is_new


@pytest.mark.parametrize("has_titles", [True, False])
async def test_a_new_title_costs_no_more_than_it_must(
    store: SQLiteStore, *, has_titles: bool
) -> None:
    """Chunks that are embedded without titles keep their vectors."""
    embedder = ScriptedEmbedder()
    if not has_titles:
        store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    bind_to(store.collections, SCOPE, embedder)
    text = "Pour it over the leaves."
    await ingest(store, text, embedder=embedder)
    done = await ingest(store, text, again=True, embedder=embedder, title="Sencha")
    (stored,) = store.collections.get(SCOPE, ["e.com/a"])
    assert (done["changed"], stored.document.title) == (True, "Sencha")
    assert stored.chunks[0].vector is not None
    calls = [[f"Tea\n{text}"], [f"Sencha\n{text}"]] if has_titles else [[text]]
    assert embedder.calls == calls
    again = await ingest(store, text, again=True, embedder=embedder, title="Sencha")
    assert (again["changed"], embedder.calls) == (False, calls)


def claim(*, stored: bool, before: str | None) -> Claim:
    """Return a claim of a refresh: with what is stored, and how the last look failed."""
    known = {} if before is None else {"failed_before": before}
    text_hash = "0" * 64 if stored else None
    validators = Validators()
    return Claim(
        1,
        SCOPE,
        URL,
        "e.com/a",
        "A",
        None,
        known,
        1,
        1,
        validators,
        None,
        text_hash,
        is_refresh=True,
    )


@pytest.mark.parametrize(
    ("stored", "before", "reasons"),
    [
        (True, None, {410, "noindex"}),
        (True, "rate_limited: later", {410, "noindex"}),
        (True, "gone: 404", {404, 410, "soft_404", "noindex"}),
        (False, None, {404, 410, "soft_404", "noindex"}),
        (
            False,
            "gone: 404",
            {404, 410, "soft_404", "noindex", 429, 500, "empty", "robots_disallowed"},
        ),
    ],
)
def test_what_says_that_a_page_is_no_more(
    stored: bool, before: str | None, reasons: set[int | str]
) -> None:
    """Of a stored page a 410, or two looks; a retired one stays so until it can be had."""
    errors: dict[int | str, Exception] = {
        404: FetchError("no", reason="gone", status=404),
        410: FetchError("no", reason="gone", status=410),
        429: FetchError("no", reason="rate_limited", status=429, retry_in_s=60),
        500: FetchError("no", reason="http_error", status=500),
        "soft_404": FetchError("no", reason="soft_404", status=200),
        "empty": ExtractionError("The page holds no text."),
        "noindex": FetchError("no", reason="noindex", status=200),
        "robots_disallowed": FetchError("no", reason="robots_disallowed"),
        "host_busy": FetchError("our own turn", reason="host_busy", retry_in_s=1),
        "dns": FetchError("no network", reason="dns_failed"),
        "connect": FetchError("no network", reason="connect_failed"),
        "timeout": FetchError("no network", reason="connect_timeout"),
        "store": StoreError("locked"),
    }
    looked_at = claim(stored=stored, before=before)
    assert {name for name, error in errors.items() if has_vanished(looked_at, error)} == reasons
    assert {name for name, error in errors.items() if is_gone_for_good(error)} == {410}
    forbidden = errors["robots_disallowed"]
    assert has_vanished(looked_at, forbidden, retire_forbidden=True)


async def test_how_the_last_look_failed_is_not_in_the_document(store: SQLiteStore) -> None:
    """Neither of a stored page nor of one that came back."""
    await ingest(store, "tea")
    for error in ("gone: 404", "gone: again"):
        store.ledger.refetch(SCOPE)
        looked_at = store.ledger.claim("worker", lease_s=60, fetch=True)
        assert looked_at is not None
        if error == "gone: 404":
            store.ledger.fail(looked_at, error, retry_in_s=None)
        else:
            store.ledger.retire(looked_at, error)
        await ingest(store, f"tea after {error}", again=True)
        (stored,) = store.collections.get(SCOPE, ["e.com/a"])
        assert "failed_before" not in stored.document.provenance
        assert stored.chunks[0].text == f"tea after {error}"


class TestVectorsOfAChangedPage:
    """Only what has changed is embedded again."""

    PARTS = tuple(f"{word.capitalize()} {'waits here. ' * 70}" for word in ("tea", "rice", "salt"))

    async def vectors(
        self, store: SQLiteStore, embedder: ScriptedEmbedder, parts: tuple[str, ...], **facts: Any
    ) -> dict[str, list[float]]:
        """Store the page, and return its vectors by the text of each chunk."""
        again = bool(store.collections.get(SCOPE, ["e.com/a"]))
        await ingest(store, "\n\n".join(parts), again=again, embedder=embedder, **facts)
        (stored,) = store.collections.get(SCOPE, ["e.com/a"])
        return {chunk.text: list(chunk.vector) for chunk in stored.chunks}  # type: ignore[arg-type]

    async def test_equal_chunks_keep_their_vectors(self, store: SQLiteStore) -> None:
        """The embedder is asked for the changed chunk alone."""
        embedder = ScriptedEmbedder()
        bind_to(store.collections, SCOPE, embedder)
        before = await self.vectors(store, embedder, self.PARTS)
        changed = (self.PARTS[0], self.PARTS[1], "New words. " * 70)
        asked = len(embedder.calls)
        after = await self.vectors(store, embedder, changed)
        (texts,) = embedder.calls[asked:]
        assert len(texts) < len(after)
        kept = before.keys() & after.keys()
        assert kept
        assert len(texts) == len(after) - len(kept)
        assert all(after[text] == before[text] for text in kept)

    async def test_another_title_changes_every_chunk(self, store: SQLiteStore) -> None:
        """Chunks are embedded with it."""
        embedder = ScriptedEmbedder()
        bind_to(store.collections, SCOPE, embedder)
        await self.vectors(store, embedder, self.PARTS)
        after = await self.vectors(store, embedder, (*self.PARTS, "End."), title="Coffee")
        assert len(embedder.calls[-1]) == len(after)

    async def test_a_model_that_changed_its_size_embeds_all(self, store: SQLiteStore) -> None:
        """Vectors of two sizes are never stored together: the user is told what to do."""
        embedder = ScriptedEmbedder(fingerprint="one:64")
        bind_to(store.collections, SCOPE, embedder)
        await self.vectors(store, embedder, self.PARTS)
        other = ScriptedEmbedder(dimension=32, fingerprint="one:64")
        with pytest.raises(StoreError, match="changed the size of its vectors"):
            await self.vectors(store, other, (*self.PARTS, "End of it. " * 70))
