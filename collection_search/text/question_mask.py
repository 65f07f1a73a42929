"""Masking of the secrets in a question, and in the queries that are made of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .known_secrets import KnownSecrets
from .redaction import mask, mask_text

_REFERENCES: Final = frozenset({"content_ref", "url_key"})
"""Fields that hold our own hashes, which look like secrets."""
_WORD: Final = re.compile(r"\w{6,}")


class QuestionMask:
    """Masks secrets, and the parts of those that what was asked holds: queries are made of them."""

    def __init__(self, *asked: str) -> None:
        parts: set[str] = set()
        for text in asked:
            shown = mask_text(text, personal=False)
            if shown != text:
                parts |= set(_WORD.findall(text)) - set(_WORD.findall(shown))
        self._parts = KnownSecrets(parts)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> QuestionMask:
        """Return the mask of a run: its queries hold words of the question and the purpose."""
        return cls(state["question"], state.get("purpose") or "")

    def mask(self, value: Any) -> Any:
        """Return a copy of a JSON-plain value with every secret masked, at any depth.

        >>> QuestionMask("why does api_key=abcdef1 fail").mask({"query": "abcdef1 fail"})
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
