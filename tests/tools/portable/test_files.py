"""A collection written to a file and read back is the same collection."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import Chunk, Document, TenantScope
from collection_search.contracts.export_row import ADDRESS_FIELDS, PLACE_FIELDS, row_digest
from collection_search.errors import ConfigError, InputError, MissingExtraError
from collection_search.testing.stores.suite import axes, chunks, document
from collection_search.tools.portable.files import export_file, export_lines, import_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FROM = TenantScope("one", "docs")
TO = TenantScope("two", "copy")
FORMS = ["jsonl", "parquet"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "collections.db")
    yield store
    store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "docs.export"


def need(form: str) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")


def fill(store: SQLiteStore, scope: TenantScope = FROM, *, vectors: bool = True) -> None:
    if vectors:
        store.collections.bind_embedder(scope, "model:4")
    for n, name in enumerate(("b", "a", "café ?q=1")):
        texts = [f"tea {name} {part}" for part in range(n + 1)]
        parts = chunks(*texts, vectors=axes(*range(n + 1)) if vectors else None)
        page = document(name, "".join(texts), rank=n, score=0.1, parts=[None, {"x": True}])
        store.collections.replace_document(scope, page, parts)


def lines(store: SQLiteStore, scope: TenantScope = FROM) -> list[str]:
    return list(export_lines(store.collections, scope))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vectors", [False, True])
def test_a_copy_is_the_same(store: SQLiteStore, path: Path, form: Any, *, vectors: bool) -> None:
    """Byte for byte, whatever the format; the copy can be searched."""
    need(form)
    fill(store, vectors=vectors)
    assert export_file(store.collections, FROM, path, form=form) == 3
    assert import_file(store.collections, TO, path) == (3, 0)
    assert lines(store, TO) == lines(store)
    again = path.with_name("again")
    export_file(store.collections, TO, again, form=form)
    assert again.read_bytes() == path.read_bytes()
    vector = axes(0) if vectors else None
    assert len(store.collections.search(TO, "tea", vector=vector)) == 6
    assert list(path.parent.glob("*.part")) == []


@pytest.mark.parametrize("form", FORMS)
def test_places_go_with_their_chunks(store: SQLiteStore, path: Path, form: Any) -> None:
    """Headings, pages and table headers are in the copy; chunks without them stay so."""
    need(form)
    parts = [
        Chunk(0, "tea", 0, 3, headings=("Tea", "Green"), page=2),
        Chunk(1, "pot", 3, 6, page=3, table_header="| Pot | Size |"),
        Chunk(2, "cup", 6, 9),
    ]
    store.collections.replace_document(FROM, document("a"), parts)
    export_file(store.collections, FROM, path, form=form)
    assert import_file(store.collections, TO, path) == (1, 0)
    (copied,) = store.collections.get(TO, [document("a").url_key])
    assert copied.chunks == parts


@pytest.mark.parametrize("known", range(len(PLACE_FIELDS)))
def test_parquet_of_earlier_versions_is_read(store: SQLiteStore, path: Path, known: int) -> None:
    """It has no column for further URLs, its chunks none for their places, or the first alone."""
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    fill(store)
    export_file(store.collections, FROM, path, form="parquet")
    table = parquet.read_table(path)
    later = [*PLACE_FIELDS][known:]
    fields = [one for one in table.schema.field("chunks").type.value_type if one.name not in later]
    kind = pa.list_(pa.struct(fields))
    at = table.schema.get_field_index("chunks")
    chunks_before = [
        [{field.name: chunk[field.name] for field in fields} for chunk in row]
        for row in table.column("chunks").to_pylist()
    ]
    before = table.set_column(at, pa.field("chunks", kind), pa.array(chunks_before, kind))
    for earlier in (table, before):
        parquet.write_table(earlier.drop_columns(list(ADDRESS_FIELDS)), path)
        import_file(store.collections, TO, path)
        assert lines(store, TO) == lines(store)
        store.collections.delete_collection(TO)


@pytest.mark.parametrize("form", FORMS)
def test_further_addresses_come_along(store: SQLiteStore, path: Path, form: Any) -> None:
    """They lead to the document in the new collection, too; a URL that is none is refused."""
    if form == "parquet":
        pytest.importorskip("pyarrow")
    page = replace(document("a", "tea"), also_at=("http://example.com/a", "https://example.com/b"))
    store.collections.replace_document(FROM, page, chunks("tea"))
    export_file(store.collections, FROM, path, form=form)
    assert import_file(store.collections, TO, path) == (1, 0)
    assert import_file(store.collections, TO, path) == (0, 1)
    assert lines(store, TO) == lines(store)
    (stored,) = store.collections.get(TO, ["example.com/b"])
    assert stored.document == page


@pytest.mark.parametrize(
    ("url", "before", "today"),
    [
        ("https://www.example.com/a/", "example.com/a", "www.example.com/a/"),
        ("http://example.com/a", "example.com/a", "http://example.com/a"),
        ("https://example.com/a", "my own id", "my own id"),
    ],
)
def test_keys_of_earlier_versions_become_those_of_today(
    store: SQLiteStore, path: Path, url: str, before: str, today: str
) -> None:
    """They ignored scheme, `www.`, slash and index page; a caller's own keys stay."""
    page = replace(document("a"), url=url, url_key=before)
    store.collections.replace_document(FROM, page, chunks("tea"))
    export_file(store.collections, FROM, path)
    import_file(store.collections, TO, path)
    assert [row["url_key"] for row in store.collections.export(TO)] == [today]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"headings": [1]}, "a heading of chunk 0 is no text"),
        ({"headings": "Tea"}, "headings of chunk 0 is of a wrong kind"),
        ({"page": 0}, "chunk 0 begins on page 0"),
        ({"page": True}, "page of chunk 0 is of a wrong kind"),
        ({"table_header": ["a"]}, "table_header of chunk 0 is of a wrong kind"),
        ({"table_header": " "}, "the table header of chunk 0 is empty"),
    ],
)
def test_impossible_places_are_refused(
    store: SQLiteStore, path: Path, place: dict[str, Any], message: str
) -> None:
    """Nothing of the file is stored then."""
    fill(store, vectors=False)
    row = json.loads(lines(store)[0])
    row["chunks"][0] |= place
    row["digest"] = row_digest(row)
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=message):
        import_file(store.collections, TO, path)
    assert store.collections.collections(TO.tenant_id) == []


def test_the_formats_hold_the_same(store: SQLiteStore, path: Path) -> None:
    """What came as Parquet goes as JSON lines."""
    pytest.importorskip("pyarrow")
    fill(store)
    export_file(store.collections, FROM, path, form="parquet")
    import_file(store.collections, TO, path)
    export_file(store.collections, TO, path)
    assert path.read_text().splitlines() == lines(store)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.lists(st.text(max_size=30), max_size=3)), max_size=4
    )
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_survives(
    store: SQLiteStore, path: Path, pages: list[tuple[str, list[str]]]
) -> None:
    """Line ends, quotes, other scripts and broken characters are no obstacle."""
    for scope in (FROM, TO):
        store.collections.delete_collection(scope)
    for n, (title, texts) in enumerate(pages):
        page = Document(f"https://example.com/{n}", f"key {n}", title, "0" * 64, {"said": title})
        store.collections.replace_document(FROM, page, chunks(*texts))
    export_file(store.collections, FROM, path)
    assert import_file(store.collections, TO, path).documents == len(pages)
    assert lines(store, TO) == lines(store)


def test_an_interrupted_import_goes_on(store: SQLiteStore, path: Path) -> None:
    """What is there is not stored again; what differs is replaced."""
    fill(store)
    export_file(store.collections, FROM, path)

    def interrupt(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(store.collections, TO, path, on_progress=interrupt)
    assert len(lines(store, TO)) == 2
    told: list[tuple[int, int]] = []
    done = import_file(store.collections, TO, path, on_progress=lambda *place: told.append(place))
    assert done == (1, 2)
    assert told == [(1, 3), (2, 3), (3, 3)]
    other = document("a", "other")
    store.collections.replace_document(TO, other, chunks("other", vectors=axes(3)))
    assert import_file(store.collections, TO, path) == (1, 2)
    assert lines(store, TO) == lines(store)


def _changed(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda row: row.update(fields)


def _chunk(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda row: row["chunks"][0].update(fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_changed(url="javascript:alert(1)"), "not an absolute http"),
        (_changed(url="langchain:another key"), "not an absolute http"),
        (_changed(url="langchain:", url_key=""), "url_key is empty"),
        (_changed(url_key=""), "url_key is empty"),
        (_changed(title=None), "title of the document is of a wrong kind"),
        (_changed(content_hash="0" * 63), "content_hash is no SHA-256"),
        (_changed(provenance=[]), "provenance of the document is of a wrong kind"),
        (_changed(title="\ud800"), "cannot be stored"),
        (_changed(more=1), "unknown field 'more'"),
        (lambda row: row.pop("chunks"), "has no chunks"),
        (_changed(embedder="other:4"), "the embedder is other:4, before it was model:4"),
        (_changed(url_key="example.com/a"), "came before"),
        (_changed(chunks=[1]), "chunk 0 is no object"),
        (_chunk(ordinal=1), "chunk 0 has the ordinal 1"),
        (_chunk(start=-1), "offsets"),
        (_chunk(end=1), "offsets 0 to 1 of chunk 0 do not fit"),
        (_chunk(start=True), "start of chunk 0 is of a wrong kind"),
        (_chunk(text="other"), "offsets"),
        (_chunk(vector=None), "needs a vector"),
        (_chunk(vector=[1.0]), "has 1 numbers, not 4"),
        (_chunk(vector=[0.5, 0.0, 0.0, 0.0]), "has the length 0.5"),
        (_chunk(vector=[0.1, 0.99498743, 0.0, 0.0]), "no float32"),
        (_chunk(vector=["1", 0, 0, 0]), "something else than numbers"),
        (_chunk(vector=[True, 0, 0, 0]), "something else than numbers"),
    ],
)
def test_a_wrong_row_is_named(
    store: SQLiteStore, path: Path, change: Callable[[dict[str, Any]], None], says: str
) -> None:
    """By its line, and nothing at all is imported."""
    fill(store)
    rows = [json.loads(line) for line in lines(store)]
    change(rows[1])
    rows[1]["digest"] = row_digest(rows[1])
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=rf"docs.export, line 2: .*{says}.*Nothing was imported"):
        import_file(store.collections, TO, path)
    assert store.collections.collections(TO.tenant_id) == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "no JSON"),
        (b"[]", "no JSON object"),
        (b"", "no JSON"),
        (b"\xff", "no JSON in UTF-8"),
        (b'{"url": NaN}', "NaN is no number"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_row_is_named(store: SQLiteStore, path: Path, line: bytes, says: str) -> None:
    """A damaged file is told by its line."""
    fill(store)
    path.write_bytes(lines(store)[0].encode() + b"\n" + line + b"\n")
    with pytest.raises(InputError, match=f"line 2: .*{says}"):
        import_file(store.collections, TO, path)


def test_damage_is_found(store: SQLiteStore, path: Path) -> None:
    """A changed word, though all is in its place, does not fit the digest."""
    fill(store)
    path.write_text("\n".join(lines(store)).replace("tea a 0", "pea a 0"))
    with pytest.raises(InputError, match=r"line 1: the digest does not fit"):
        import_file(store.collections, TO, path)


def test_files_that_cannot_be_read_or_written_are_named(store: SQLiteStore, tmp_path: Path) -> None:
    """In plain words."""
    fill(store)
    with pytest.raises(InputError, match=r"nix.* cannot be read"):
        import_file(store.collections, TO, tmp_path / "nix")
    with pytest.raises(InputError, match=r"nix.* cannot be written"):
        export_file(store.collections, FROM, tmp_path / "nix" / "file")


def test_other_parquet_files_are_refused(store: SQLiteStore, path: Path) -> None:
    """Damaged ones and those of somebody else."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        import_file(store.collections, TO, path)
    parquet.write_table(arrow.table({"x": [1]}), path)
    with pytest.raises(InputError, match="other columns"):
        import_file(store.collections, TO, path)


@pytest.mark.parametrize("form", FORMS)
def test_a_full_collection_keeps_its_embedder(store: SQLiteStore, path: Path, form: Any) -> None:
    """Vectors of two models, or of one and none, never mix."""
    need(form)
    fill(store)
    export_file(store.collections, FROM, path, form=form)
    store.collections.bind_embedder(TO, "other:4")
    with pytest.raises(ConfigError, match="other:4"):
        import_file(store.collections, TO, path)
    words = TenantScope("two", "words")
    fill(store, words, vectors=False)
    before = lines(store, words)
    with pytest.raises(InputError, match=r"'words' has no embedder, the file comes model:4"):
        import_file(store.collections, words, path)
    assert lines(store, words) == before
    export_file(store.collections, words, path, form=form)
    with pytest.raises(InputError, match=r"'docs' has model:4, the file comes without vectors"):
        import_file(store.collections, FROM, path)


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_collection_can_be_imported(store: SQLiteStore, path: Path, form: Any) -> None:
    """Its file says that it has no documents, and makes nothing."""
    need(form)
    assert export_file(store.collections, FROM, path, form=form) == 0
    assert path.read_bytes()
    assert import_file(store.collections, TO, path) == (0, 0)
    assert store.collections.collections(TO.tenant_id) == []


def test_a_pipe_is_refused(store: SQLiteStore, tmp_path: Path) -> None:
    """It cannot be read twice; the message says what to do."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    kept_open = os.open(pipe, os.O_RDWR)  # a reader would wait for a writer
    with pytest.raises(InputError, match="is a pipe: write the export to a file"):
        import_file(store.collections, TO, pipe)
    os.close(kept_open)


@pytest.mark.parametrize("name", ["empty.jsonl", "empty.parquet", os.devnull])
def test_an_empty_file_is_refused(store: SQLiteStore, tmp_path: Path, name: str) -> None:
    """It is what a failed copy leaves, and no collection."""
    path = tmp_path / name
    if name != os.devnull:
        path.touch()
    with pytest.raises(InputError, match=r"is empty, .* Nothing was imported"):
        import_file(store.collections, TO, path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.skipif(os.name == "nt", reason="has no such files")
def test_what_the_output_names_stays_what_it_is(
    store: SQLiteStore, tmp_path: Path, form: Any
) -> None:
    """A mode, a link and a device; a link to nowhere is refused."""
    need(form)
    fill(store)
    real, link = tmp_path / "real", tmp_path / "link"
    real.touch()
    real.chmod(0o640)
    link.symlink_to(real)
    assert export_file(store.collections, FROM, link, form=form) == 3
    assert (link.is_symlink(), real.stat().st_mode & 0o777) == (True, 0o640)
    assert import_file(store.collections, TO, real) == (3, 0)
    link.unlink()
    link.symlink_to(os.devnull)
    assert export_file(store.collections, FROM, link, form=form) == 3
    assert link.is_symlink()
    assert Path(os.devnull).is_char_device()
    link.unlink()
    link.symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="cannot be written: it is a link"):
        export_file(store.collections, FROM, link, form=form)


def test_parquet_names_its_extra(
    store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pyarrow is missing, JSON lines still work."""
    fill(store)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"collection-search\[parquet\]"):
        export_file(store.collections, FROM, path, form="parquet")
    assert not path.exists()
    assert export_file(store.collections, FROM, path) == 3


def test_a_collection_without_texts_is_no_obstacle(store: SQLiteStore, path: Path) -> None:
    """A document may have no chunks."""
    store.collections.replace_document(FROM, document("a"), [])
    store.collections.replace_document(FROM, document("b"), [Chunk(0, "", 0, 0)])
    export_file(store.collections, FROM, path)
    assert import_file(store.collections, TO, path) == (2, 0)
    assert lines(store, TO) == lines(store)
