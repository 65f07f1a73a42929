"""Redaction of a run's known secrets in everything that a cassette writes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import SecretBytes, SecretStr

from ..text.known_secrets import KnownSecrets
from ..text.redaction import is_secret_name, mask, mask_text

_MAX_SEEN: Final = 1_000
"""Attributes and values that are searched in one object."""


class Scrubber:
    """A redactor of JSON-plain values: known secrets literally, all others by their form."""

    def __init__(self) -> None:
        self._hidden: set[str] = set()
        self._known = KnownSecrets(())

    def hide(self, *owners: object) -> None:
        """Add the secrets of these objects to the known ones."""
        secrets = {secret for owner in owners for secret in secrets_of(owner)}
        if not secrets <= self._hidden:
            self._hidden |= secrets
            self._known = KnownSecrets(self._hidden)

    def scrubbed(self, value: Any) -> Any:
        """Return a copy without secrets and personal data, in names too.

        >>> scrubber = Scrubber()
        >>> scrubber.hide({"api_key": "open sesame"})
        >>> scrubber.scrubbed({"url": "https://a.org/?q=open%20sesame", "by": "jane@example.com"})
        {'url': 'https://a.org/?q=[secret]', 'by': '[email]'}
        """
        return mask(self._literally(value))

    def text(self, text: str) -> str:
        """Return the text without secrets and personal data."""
        return mask_text(self._known.redact(text))

    def _literally(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._known.redact(value)
        if isinstance(value, dict):
            return {self.text(name): self._literally(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._literally(inner) for inner in value]
        return value


def secrets_of(owner: Any) -> Iterator[str]:
    """Yield the secrets in an object's attributes or a mapping's values, and in their own.

    Secrets are those of pydantic, texts under a secret's name, and passwords in addresses. The
    search ends after the first thousand values.
    """
    waiting, seen = deque([("", owner)]), 0
    while waiting and seen < _MAX_SEEN:
        name, value = waiting.popleft()
        seen += 1
        if isinstance(value, SecretStr | SecretBytes):
            name, value = "secret", value.get_secret_value()
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        if isinstance(value, str):
            yield from _secrets_in(value, name)
        elif isinstance(value, Mapping):
            waiting.extend((str(key), inner) for key, inner in list(value.items())[:_MAX_SEEN])
        elif isinstance(value, list | tuple):
            waiting.extend((name, inner) for inner in value[:_MAX_SEEN])
        elif not isinstance(value, type):
            waiting.extend(list(getattr(value, "__dict__", {}).items())[:_MAX_SEEN])


def _secrets_in(text: str, name: str) -> Iterator[str]:
    if name == "secret" or is_secret_name(name):
        yield text.strip()
    elif "://" in text and "@" in text:
        try:
            password = urlsplit(text).password
        except ValueError:
            return
        if password:
            yield password
            yield unquote(password)
