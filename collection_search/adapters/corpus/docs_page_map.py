"""The table of pages of docs.python.org whose text is part of every Python.

`docs_page_map.tsv` has one row per page, with the modules that it documents, and topics of
`pydoc_data.topics`. Modules that the running Python lacks are skipped, so one table serves every
version. A module with a leading underscore implements documented names. A name that begins with a
dot is a submodule of the first one in its row.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_TABLE: Final = Path(__file__).with_name("docs_page_map.tsv")


class ListedPage(NamedTuple):
    """A page of the site, with the modules and topics that it documents."""

    path: str
    """The path below the version, without `.html`."""
    title: str
    modules: tuple[str, ...]
    topics: tuple[str, ...]


@cache
def listed_pages() -> tuple[ListedPage, ...]:
    """Return the pages; the file is read on first use.

    >>> [page.topics for page in listed_pages() if page.path == "library/pdb"]
    [('debugger',)]
    """
    _, *rows = _TABLE.read_text("utf-8").splitlines()
    return tuple(map(_listed, rows))


@cache
def table_version() -> str:
    """Return a hash of the table."""
    return hashlib.sha256(_TABLE.read_bytes()).hexdigest()[:16]


def _listed(row: str) -> ListedPage:
    path, title, modules, *topics = row.split("\t")
    return ListedPage(path, title, _full_names(modules), tuple(" ".join(topics).split()))


def _full_names(modules: str) -> tuple[str, ...]:
    """Return the modules of a row.

    >>> _full_names("json .encoder _json")
    ('json', 'json.encoder', '_json')
    """
    names = modules.split()
    return tuple(names[0] + name if name.startswith(".") else name for name in names)
