"""Functions that the migrations of older files call."""

from __future__ import annotations

from typing import Any

from ....ranking.lexicon import index_changes, index_text
from ....text.loose_keys import current_key


def stems_of(text: str, before: str) -> str:
    """Return the stems of a text for the word index; `before` are those of an earlier version."""
    return index_text(text) if index_changes(text) else before


def key_of_row(url: Any, key: Any) -> Any:
    """Return the key that a row with this URL and this key of an earlier version has today."""
    return current_key(url, key) if isinstance(url, str) and isinstance(key, str) else key
