"""Masking of the secrets in a question, and in the queries that are made of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from .known_secrets import KnownSecrets
from .redaction import SECRET, mask, mask_text
from .written_texts import change_written

if TYPE_CHECKING:
    from collections.abc import Mapping

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

        Addresses, titles and texts of pages are what the web says, and ids are no secrets: both
        stay as they are.

        >>> QuestionMask("why does api_key=abcdef1 fail").mask({"query": "abcdef1 fail"})
        {'query': '[secret] fail'}
        """
        return change_written(value, self._masked)

    def _masked(self, name: str, text: str) -> str:
        return self._parts.redact(mask({name: text}, personal=False)[name])


def is_masked(text: str) -> bool:
    """Return whether a secret of the text was masked, so that it cannot be asked again.

    >>> is_masked(QuestionMask().mask("why does api_key=abcdef1 fail"))
    True
    """
    return SECRET in text
