"""Masking of secrets in what is kept of a run and shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...text.redaction import mask, mask_text

_REFERENCES: Final = frozenset({"content_ref", "url_key"})
"""Fields that hold our own hashes, which look like secrets."""


def mask_kept(value: Any) -> Any:
    """Return a copy of a JSON-plain value with every secret masked, at any depth.

    >>> mask_kept({"question": "why does api_key=abc fail", "content_ref": "0f" * 32})["question"]
    'why does api_key=[secret] fail'
    """
    if isinstance(value, Mapping):
        return {
            name: inner if name in _REFERENCES else _named(str(name), inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [mask_kept(inner) for inner in value]
    return mask_text(value, personal=False) if isinstance(value, str) else value


def _named(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return mask({name: value}, personal=False)[name]
    return mask_kept(value)
