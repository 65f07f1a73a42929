"""Pages of docs.python.org, with the text that the running Python holds of each."""

from __future__ import annotations

import builtins
import sys
import sysconfig
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .docs_page_map import ListedPage, listed_pages
from .docstrings import documentation
from .entry import CorpusPage, Reader
from .introspection import extension_documentation, format_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SHORTEST: Final = 40
"""Characters; a name alone is no documentation."""

SITE: Final = f"https://docs.python.org/{sys.version_info.major}.{sys.version_info.minor}"

_TYPES: Final = (
    *(str, bytes, bytearray, memoryview, int, float, complex),
    *(list, tuple, range, dict, set, frozenset),
)


def python_readers() -> list[Reader]:
    """Return a reader for every page of the library and of the language reference."""
    return [
        *(_reader(page.path, page.title, partial(_listed_text, page)) for page in listed_pages()),
        _reader("library/functions", "Built-in Functions", _functions_text),
        _reader("library/exceptions", "Built-in Exceptions", _exceptions_text),
    ]


def _reader(page: str, title: str, text: Callable[[], str]) -> Reader:
    def read() -> CorpusPage | None:
        known = text()
        return CorpusPage(f"{SITE}/{page}.html", title, known) if len(known) >= _SHORTEST else None

    return read


def _listed_text(page: ListedPage) -> str:
    texts = [*map(_module_text, page.modules), *map(_topic, page.topics)]
    if page.path == "library/stdtypes":
        texts += format_blocks((kind.__name__, kind) for kind in _TYPES)
    return _joined(texts)


def _functions_text() -> str:
    return _joined(format_blocks(_builtins(exceptions=False), members=False))


def _exceptions_text() -> str:
    return _joined(format_blocks(_builtins(exceptions=True), members=False))


def _builtins(*, exceptions: bool) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(builtins).items()):
        is_exception = isinstance(value, type) and issubclass(value, BaseException)
        if not name.startswith("_") and is_exception == exceptions:
            yield name, value


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, texts))


def _module_text(name: str) -> str:
    source = _source(name)
    text = documentation(source.read_bytes()) if source else extension_documentation(name)
    public = not any(part.startswith("_") for part in name.split("."))
    return f"{name}\n\n{text}" if text and public else text


def _source(name: str) -> Path | None:
    """Return the module's file in the standard library, None when there is no Python source."""
    path = Path(sysconfig.get_path("stdlib"), *name.split("."))
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def _topic(name: str) -> str:
    """Return a section of the language reference as `help()` shows it."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out
        return ""
    text: str = topics.get(name, "")
    return text
