"""Masking of secrets in what is kept of a run and shown of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...text.known_secrets import KnownSecrets
from ...text.redaction import mask, mask_text

_REFERENCES: Final = frozenset({"content_ref", "url_key"})
"""Fields that hold our own hashes, which look like secrets."""
_WORD: Final = re.compile(r"\w{6,}")


class RunMask:
    """Masks secrets, and the parts of those that the question holds: queries are made of them."""

    def __init__(self, question: str) -> None:
        shown = _WORD.findall(mask_text(question, personal=False))
        self._parts = KnownSecrets(set(_WORD.findall(question)) - set(shown))

    def mask(self, value: Any) -> Any:
        """Return a copy of a JSON-plain value with every secret masked, at any depth.

        >>> RunMask("why does api_key=abcdef1 fail").mask({"query": "abcdef1 fail"})
        {'query': '[secret] fail'}
        """
        if isinstance(value, Mapping):
            return {
                name: inner if name in _REFERENCES else self._named(str(name), inner)
                for name, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.mask(inner) for inner in value]
        if not isinstance(value, str):
            return value
        return self._parts.redact(mask_text(value, personal=False))

    def _named(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            return self._parts.redact(mask({name: value}, personal=False)[name])
        return self.mask(value)
