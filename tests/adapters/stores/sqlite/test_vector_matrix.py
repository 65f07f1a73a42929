"""Vectors give the same products from memory, from a file and from the database."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.vector_matrix import (
    BLOCK_BYTES,
    VectorMatrix,
    pieces_of,
)
from collection_search.contracts.collection import TenantScope
from collection_search.errors import StoreError
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 2048
DOCUMENTS = 60
PER_DOCUMENT = 8
ROWS = DOCUMENTS * PER_DOCUMENT
VECTORS = np.random.default_rng(5).standard_normal((ROWS, SIZE)).astype(np.float32)
QUESTION = VECTORS[7] / np.linalg.norm(VECTORS[7])
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
    assert VECTORS.nbytes > 2 * BLOCK_BYTES
    return path


@pytest.fixture
def connection(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def held(connection: sqlite3.Connection, _: Path) -> VectorMatrix:
    matrix = VectorMatrix(connection, 1, 0)
    matrix.load(connection)
    return matrix


def filed(connection: sqlite3.Connection, folder: Path) -> VectorMatrix:
    matrix = VectorMatrix(connection, 1, 0)
    matrix.file(connection, str(folder))
    return matrix


def stored(connection: sqlite3.Connection, _: Path) -> VectorMatrix:
    return VectorMatrix(connection, 1, 0)


def nameless(folder: Path) -> list[Path]:
    """Return the descriptors of files in the folder that have no name any more."""
    return [
        descriptor
        for descriptor in DESCRIPTORS.iterdir()
        if descriptor.is_symlink()  # that of the listing is gone by now
        and (name := str(descriptor.readlink())).startswith(f"{folder}/")
        and name.endswith(" (deleted)")
    ]


@pytest.mark.parametrize("made", [held, filed, stored])
def test_all_products(
    made: Callable[[sqlite3.Connection, Path], VectorMatrix],
    connection: sqlite3.Connection,
    tmp_path: Path,
) -> None:
    """They stand in the order of the ids."""
    matrix = made(connection, tmp_path)
    assert matrix.ids.tolist() == sorted(matrix.ids.tolist())
    np.testing.assert_allclose(matrix.compare(connection, QUESTION), VECTORS @ QUESTION, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("made", [held, filed, stored])
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
    products = matrix.compare(connection, QUESTION, places)
    np.testing.assert_allclose(products, (VECTORS @ QUESTION)[places], atol=1e-4)


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
    assert (matrix.filed, facts.st_size) == (VECTORS.nbytes, VECTORS.nbytes)
    assert matrix.loaded_bytes == ROWS * 16
    del matrix
    assert nameless(tmp_path) == []


@needs_descriptors
def test_a_file_that_cannot_be_read(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """The error says where it is and what to do."""
    matrix = filed(connection, tmp_path)
    (descriptor,) = nameless(tmp_path)
    os.ftruncate(int(descriptor.name), BLOCK_BYTES)
    with pytest.raises(StoreError, match=f"vectors in {tmp_path} cannot be read.*Check the disk"):
        matrix.compare(connection, QUESTION)


def test_no_file_where_none_can_be(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """The matrix is as useful as before."""
    matrix = VectorMatrix(connection, 1, 0)
    with pytest.raises(OSError, match="No such file"):
        matrix.file(connection, str(tmp_path / "gone"))
    assert matrix.filed == 0
    assert len(matrix.compare(connection, QUESTION)) == ROWS


@pytest.mark.parametrize(
    ("free", "fits"), [(2 * VECTORS.nbytes, True), (2 * VECTORS.nbytes - 1, False)]
)
def test_a_file_takes_at_most_half_of_what_is_free(
    connection: sqlite3.Connection, tmp_path: Path, free: int, fits: bool
) -> None:
    """The database has to grow as well."""
    matrix, asked = VectorMatrix(connection, 1, 0), []

    def told(folder: str) -> int:
        asked.append(folder)
        return free

    with nullcontext() if fits else pytest.raises(OSError, match="less than twice") as caught:
        matrix.file(connection, str(tmp_path), free=told)
    assert asked == [str(tmp_path)]
    assert matrix.filed == (VECTORS.nbytes if fits else 0)
    assert caught is None or caught.value.errno == errno.ENOSPC


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot say it early")
def test_a_full_disk_says_so_before_anything_is_copied(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """Not after a minute, nor when blocks that were promised are written."""
    import resource

    matrix, read = VectorMatrix(connection, 1, 0), list[str]()
    connection.set_trace_callback(read.append)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * BLOCK_BYTES, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            matrix.file(connection, str(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert read == []
    assert matrix.filed == 0


@pytest.mark.slow
@settings(deadline=None)
@given(st.sets(st.integers(0, 200)), st.integers(0, 20))
def test_pieces(chosen: set[int], gap: int) -> None:
    """They hold every place, leave out gaps that are wide enough, and say where each place is."""
    places = np.array(sorted(chosen), dtype=np.intp)
    pieces, among = pieces_of(places, gap=gap)
    joined = [place for first, count in pieces for place in range(first, first + count)]
    assert [joined[n] for n in among] == sorted(chosen)
    for (first, count), (following, _) in pairwise(pieces):
        assert following - (first + count) > gap
    unwanted = [place for place in joined if place not in chosen]
    assert len(unwanted) <= gap * max(0, len(places) - 1)
