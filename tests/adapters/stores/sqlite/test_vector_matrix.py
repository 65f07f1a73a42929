"""Coded vectors give the same products from memory and from a file, the database exact ones."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.vector_blocks import BlockFile
from collection_search.adapters.stores.sqlite.vector_matrix import BLOCK_ROWS, VectorMatrix
from collection_search.contracts.collection import TenantScope
from collection_search.errors import StoreError
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 64
DOCUMENTS = 60
PER_DOCUMENT = 80
ROWS = DOCUMENTS * PER_DOCUMENT
VECTORS = np.random.default_rng(5).standard_normal((ROWS, SIZE)).astype(np.float32)
QUESTION = VECTORS[7] / np.linalg.norm(VECTORS[7])
ERROR = 6 * 0.0042 * 8
"""Six standard deviations of a product with vectors of length 8."""
DESCRIPTORS = Path("/proc/self/fd")

needs_descriptors = pytest.mark.skipif(
    not DESCRIPTORS.exists(), reason="only Linux shows what a nameless file is"
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One collection of a few blocks."""
    path = tmp_path_factory.mktemp("store") / "collections.db"
    store, scope = SQLiteStore(path), TenantScope("local", "a")
    store.collections.bind_embedder(scope, f"model:{SIZE}")
    for n in range(DOCUMENTS):
        texts = [f"{n} {ordinal}" for ordinal in range(PER_DOCUMENT)]
        rows = VECTORS[n * PER_DOCUMENT :][:PER_DOCUMENT]
        page = document(f"page{n:03}", "".join(texts))
        store.collections.replace_document(scope, page, chunks(*texts, vectors=rows))
    store.close()
    assert ROWS > 2 * BLOCK_ROWS
    return path


@pytest.fixture
def connection(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def held(connection: sqlite3.Connection, _: Path) -> VectorMatrix:
    return VectorMatrix.listed(connection, 1, DOCUMENTS).held(connection)


def filed(connection: sqlite3.Connection, folder: Path) -> VectorMatrix:
    return VectorMatrix.listed(connection, 1, DOCUMENTS).filed(connection, str(folder))


def nameless(folder: Path) -> list[Path]:
    """Return the descriptors of files in the folder that have no name any more."""
    return [
        descriptor
        for descriptor in DESCRIPTORS.iterdir()
        if descriptor.is_symlink()  # that of the listing is gone by now
        and (name := str(descriptor.readlink())).startswith(f"{folder}/")
        and name.endswith(" (deleted)")
    ]


@pytest.mark.parametrize("made", [held, filed])
def test_all_products(
    made: Callable[[sqlite3.Connection, Path], VectorMatrix],
    connection: sqlite3.Connection,
    tmp_path: Path,
) -> None:
    """They stand in the order of the ids; nearly none is wrong by more than is told."""
    matrix = made(connection, tmp_path)
    assert matrix.ids.tolist() == sorted(matrix.ids.tolist())
    exact = VECTORS @ QUESTION
    products, error = matrix.compare(QUESTION)
    np.testing.assert_allclose(products, exact, atol=ERROR)
    assert np.mean(np.abs(products - exact) <= error) > 0.99
    np.testing.assert_allclose(matrix.scan(connection, QUESTION), exact, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("made", [held, filed])
@pytest.mark.parametrize(
    "wanted",
    [[0], [59], [3, 4, 5, 40], range(0, 60, 2), range(0, 60, 7), range(60), range(10, 55)],
)
def test_products_of_some_documents(
    made: Callable[[sqlite3.Connection, Path], VectorMatrix],
    wanted: list[int] | range,
    connection: sqlite3.Connection,
    tmp_path: Path,
) -> None:
    """Whether they are few or most, scattered or side by side; strangers have no rows."""
    matrix = made(connection, tmp_path)
    ids = [row["id"] for row in connection.execute("SELECT id FROM documents ORDER BY id")]
    places = matrix.places([*(ids[n] for n in reversed(wanted)), 10_000])
    assert places.tolist() == [n * PER_DOCUMENT + i for n in wanted for i in range(PER_DOCUMENT)]
    products, _ = matrix.compare(QUESTION, places)
    exact = (VECTORS @ QUESTION)[places]
    np.testing.assert_allclose(products, exact, atol=ERROR)
    np.testing.assert_allclose(matrix.scan(connection, QUESTION, places), exact, atol=1e-4)


@pytest.mark.parametrize("made", [held, filed])
def test_an_update_is_what_reading_anew_gives(
    made: Callable[[sqlite3.Connection, Path], VectorMatrix],
    database: Path,
    tmp_path: Path,
) -> None:
    """The matrix before it stays as it was, and the blocks without a change are shared."""
    path = tmp_path / "collections.db"
    path.write_bytes(database.read_bytes())
    store, scope = SQLiteStore(path), TenantScope("local", "a")
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        before = made(connection, tmp_path)
        products, _ = before.compare(QUESTION)
        for name, count in (("page001", 3), ("page059", 100), ("new", 2)):
            page = document(name)
            texts = [f"{name} {n}" for n in range(count)]
            rows = chunks(*texts, vectors=VECTORS[:count])
            store.collections.replace_document(scope, page, rows)
        store.collections.delete_document(scope, "example.com/page002")
        changes = connection.execute("SELECT changes FROM collections").fetchone()[0]
        updated = before.updated(connection, changes)
        assert updated is not None
        anew = VectorMatrix.listed(connection, 1, changes).held(connection)
        assert updated.changes == changes
        assert updated.ids.tolist() == anew.ids.tolist()
        assert updated.rows.owners.tolist() == anew.rows.owners.tolist()
        assert updated.documents.tolist() == anew.documents.tolist()
        assert updated.compare(QUESTION)[0].tolist() == anew.compare(QUESTION)[0].tolist()
        assert before.compare(QUESTION)[0].tolist() == products.tolist()
        assert not before.is_intact(connection)
        assert updated.is_intact(connection)
        assert updated.blocks[1] is before.blocks[1]
    store.close()


@needs_descriptors
def test_the_file_is_nameless_and_private_and_goes_with_its_matrix(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """So that nothing of it outlives the process, however that ends."""
    matrix = filed(connection, tmp_path)
    assert list(tmp_path.iterdir()) == []
    (descriptor,) = nameless(tmp_path)
    facts = os.fstat(int(descriptor.name))
    assert (stat.S_IMODE(facts.st_mode), facts.st_nlink) == (0o600, 0)
    assert (matrix.filed_bytes, facts.st_size) == (VECTORS.size, VECTORS.size)
    assert matrix.loaded_bytes == ROWS * 20
    del matrix
    assert nameless(tmp_path) == []


@needs_descriptors
def test_a_file_that_cannot_be_read(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """The error says where it is and what to do."""
    matrix = filed(connection, tmp_path)
    (descriptor,) = nameless(tmp_path)
    os.ftruncate(int(descriptor.name), VECTORS.size // 2)
    with pytest.raises(StoreError, match=f"vectors in {tmp_path} cannot be read.*Check the disk"):
        matrix.compare(QUESTION)


def test_no_file_where_none_can_be(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """The matrix is as useful as before."""
    matrix = VectorMatrix.listed(connection, 1, 0)
    with pytest.raises(OSError, match="No such file"):
        matrix.filed(connection, str(tmp_path / "gone"))
    assert matrix.filed_bytes == 0
    assert len(matrix.scan(connection, QUESTION)) == ROWS


@pytest.mark.parametrize(
    ("free", "fits"), [(2 * VECTORS.size, True), (2 * VECTORS.size - 1, False)]
)
def test_a_file_takes_at_most_half_of_what_is_free(
    connection: sqlite3.Connection, tmp_path: Path, free: int, fits: bool
) -> None:
    """The database has to grow as well."""
    matrix, asked = VectorMatrix.listed(connection, 1, 0), []

    def told(folder: str) -> int:
        asked.append(folder)
        return free

    with nullcontext() if fits else pytest.raises(OSError, match="less than twice") as caught:
        matrix = matrix.filed(connection, str(tmp_path), free=told)
    assert asked == [str(tmp_path)]
    assert matrix.filed_bytes == (VECTORS.size if fits else 0)
    assert caught is None or caught.value.errno == errno.ENOSPC


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot say it early")
def test_a_full_disk_says_so_before_anything_is_copied(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """Not after a minute, nor when blocks that were promised are written."""
    import resource

    matrix, read = VectorMatrix.listed(connection, 1, 0), list[str]()
    connection.set_trace_callback(read.append)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (VECTORS.size // 2, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            matrix.filed(connection, str(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert read == []


@needs_descriptors
def test_what_nobody_uses_any_more_is_overwritten(tmp_path: Path) -> None:
    """With zeros, and its place is used again; blocks of a file that is gone are left alone."""
    file = BlockFile(str(tmp_path), 12)
    (descriptor,) = nameless(tmp_path)
    codes = np.full((2, 3), 7, dtype=np.int8)
    first, second = file.put(codes), file.put(codes)
    assert second.read(np.empty(6, dtype=np.int8)).tolist() == codes.tolist()
    del first
    with descriptor.open("rb") as opened:
        assert opened.read() == bytes(6) + codes.tobytes()
    third = file.put(codes)
    with descriptor.open("rb") as opened:
        assert opened.read() == 2 * codes.tobytes()
    del file
    assert nameless(tmp_path) == []
    del second, third


@needs_descriptors
def test_a_file_stays_small_while_a_block_grows(tmp_path: Path) -> None:
    """Each next one is longer than the places of those before: two of them side by side do."""
    file = BlockFile(str(tmp_path), 20)
    (descriptor,) = nameless(tmp_path)
    first, growing = file.put(np.ones((2, 5), dtype=np.int8)), None
    for columns in range(5, 500):
        codes = np.full((2, columns), columns % 100, dtype=np.int8)
        growing = file.put(codes)
        assert growing.read(np.empty(codes.size, dtype=np.int8)).tolist() == codes.tolist()
    assert first.read(np.empty(10, dtype=np.int8)).tolist() == [[1] * 5] * 2
    size = os.fstat(int(descriptor.name)).st_size
    assert size <= 4 * 2 * 500
    assert size == file.size


def test_a_file_grows_only_where_the_disk_has_room(tmp_path: Path) -> None:
    """Twice as much as it grows by, as when it was made."""
    free = [1000, 7]
    file = BlockFile(str(tmp_path), 6, free=lambda _: free.pop(0))
    codes = np.ones((2, 3), dtype=np.int8)
    kept = [file.put(codes)]
    with pytest.raises(OSError, match="less than twice 6 bytes") as caught:
        kept.append(file.put(codes))
    assert caught.value.errno == errno.ENOSPC
    assert file.size == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_changes_nothing_of_the_file(tmp_path: Path) -> None:
    """Neither when it is done with a block, nor by one of its own; it may read."""
    file, codes = BlockFile(str(tmp_path), 12), np.full((2, 3), 7, dtype=np.int8)
    first, second, room = file.put(codes), file.put(codes), np.empty(6, dtype=np.int8)
    child = os.fork()
    if child == 0:
        del first
        status = 8
        with suppress(StoreError, OSError):
            status = 7 if second.read(room).tolist() == codes.tolist() else 9
            file.put(np.zeros((2, 3), dtype=np.int8))
            status = 10
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    for block in (first, second):
        assert block.read(room).tolist() == codes.tolist()
