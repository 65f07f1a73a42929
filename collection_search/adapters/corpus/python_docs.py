"""Pages of docs.python.org, with text from the running Python."""

from __future__ import annotations

import builtins
import sys
import sysconfig
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..crawl.extract.markup import rst_headings
from .docs_page_map import ListedPage, listed_pages
from .docstrings import documentation
from .entry import CorpusPage, KeyedReader
from .introspection import extension_documentation, format_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SHORTEST: Final = 40
"""In characters. A name alone is not documentation."""

SITE: Final = f"https://docs.python.org/{sys.version_info.major}.{sys.version_info.minor}"

_TYPES: Final = (
    *(str, bytes, bytearray, memoryview, int, float, complex),
    *(list, tuple, range, dict, set, frozenset),
)


def python_readers() -> list[KeyedReader]:
    """Return a reader for every page of the library and of the language reference."""
    return [
        *(_reader(page.path, page.title, partial(_listed_text, page)) for page in listed_pages()),
        _reader("library/functions", "Built-in Functions", partial(_builtins, exceptions=False)),
        _reader("library/exceptions", "Built-in Exceptions", partial(_builtins, exceptions=True)),
    ]


def _reader(page: str, title: str, text: Callable[[], str]) -> KeyedReader:
    def read() -> CorpusPage | None:
        found = text()
        return CorpusPage(f"{SITE}/{page}.html", title, found) if len(found) >= _SHORTEST else None

    return KeyedReader(f"page {page}", read)


def _listed_text(page: ListedPage) -> str:
    texts = [*map(_module_text, page.modules), *map(_topic, page.topics)]
    if page.path == "library/stdtypes":
        texts += format_blocks((kind.__name__, kind) for kind in _TYPES)
    return _joined(texts)


def _builtins(*, exceptions: bool) -> str:
    def is_exception(value: Any) -> bool:
        return isinstance(value, type) and issubclass(value, BaseException)

    public = [(name, value) for name, value in vars(builtins).items() if not name.startswith("_")]
    chosen = sorted(item for item in public if is_exception(item[1]) == exceptions)
    return _joined(format_blocks(chosen, members=False))


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, texts))


def _module_text(name: str) -> str:
    source = _source(name)
    text = documentation(source.read_bytes()) if source else extension_documentation(name)
    public = not any(part.startswith("_") for part in name.split("."))
    return f"# {name}\n\n{text}" if text and public else text


def _source(name: str) -> Path | None:
    """Return the module's file in the standard library, or None if it has no Python source."""
    path = Path(sysconfig.get_path("stdlib"), *name.split("."))
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def _topic(name: str) -> str:
    """Return a section of the language reference as `help()` shows it."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out
        return ""
    return rst_headings(topics.get(name, ""))
