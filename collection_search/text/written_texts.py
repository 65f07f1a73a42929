"""Changes of the texts that people and this package wrote, beside what the web says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_OF_THE_WEB: Final = frozenset(
    ("url", "urls", "approved_urls", "added_urls", "title", "snippet", "text", "source")
)
"""Fields with an address or a text of a page."""
_NAMES: Final = frozenset(
    ("url_key", "url_keys", "content_ref", "ticket", "collection", "collection_scope")
)
"""Fields by which something is found again."""
_ID: Final = "_id"


def change_written(value: Any, change: Callable[[str, str], str], name: str = "") -> Any:
    """Return a copy of a JSON-plain value with each written text changed, at any depth.

    `change` gets the name of the field with the text, or with its list, and the text. Addresses
    and texts of pages, and ids, stay as they are.

    >>> change_written({"url": "https://a.example/tea", "note": "tea"}, lambda _, text: text * 2)
    {'url': 'https://a.example/tea', 'note': 'teatea'}
    """
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, Mapping):
        return {
            field: inner if _is_kept(str(field)) else change_written(inner, change, str(field))
            for field, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [change_written(inner, change, name) for inner in value]
    return value


def _is_kept(field: str) -> bool:
    return field in _OF_THE_WEB or field in _NAMES or field.endswith(_ID)
