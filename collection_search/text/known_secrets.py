"""Redaction of known secrets, in every usual encoding."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .redaction import SECRET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHORTEST: Final = 4
"""Fewest characters of a secret; shorter texts occur in ordinary words."""
_SHORTEST_BASE64: Final = 5


class KnownSecrets:
    """Secrets that must not be shown, such as the key of a request.

    They are found plain, URL-quoted, escaped as in JSON and HTML (each character by itself),
    hexadecimal, and in base64 at any offset, as in basic authentication.
    """

    def __init__(self, secrets: Iterable[str], *, shortest: int = _SHORTEST) -> None:
        known = {secret for secret in secrets if len(secret) >= shortest}
        longest_first = sorted(known, key=lambda secret: (-len(secret), secret))
        forms = [form for secret in longest_first for form in _forms_of(secret)]
        self._pattern = re.compile("|".join(form.pattern for form in forms)) if forms else None
        self._signs = [form.sign.encode() for form in forms]

    def redact(self, text: str) -> str:
        """Return the text without the secrets.

        >>> KnownSecrets(["open/sesame"]).redact("?key=open%2fsesame, b3Blbi9zZXNhbWU=")
        '?key=[secret], [secret]'
        """
        return self._pattern.sub(SECRET, text) if self._pattern else text

    def redact_bytes(self, body: bytes) -> bytes:
        """Return UTF-8 text without the secrets; fast for a large text without any."""
        if not any(sign in body for sign in self._signs):
            return body
        return self.redact(body.decode(errors="surrogateescape")).encode(errors="surrogateescape")


class _Form(NamedTuple):
    """One written form of a secret."""

    pattern: str
    sign: str
    """A part of every text that the pattern matches; may be empty."""


def _forms_of(secret: str) -> Iterator[_Form]:
    yield _Form("".join(map(_written_char, secret)), _longest_word(secret))
    content = secret.encode(errors="replace")
    yield from (_Form(digits, digits) for digits in (content.hex(), content.hex().upper()))
    for before, spoilt in enumerate((0, 2, 3)):  # characters that hold bits of what stands before
        padded = base64.b64encode(bytes(before) + content).decode()
        encoded = padded.rstrip("=")
        is_open = encoded != padded  # the last character holds bits of what follows
        inner = encoded[spoilt : -1 if is_open else None]
        if len(inner) >= _SHORTEST_BASE64:
            end = r"[\w+/-]?(?:=|%3[dD]){0,2}" if is_open else ""
            written = "".join(_BASE64_SIGNS.get(char, char) for char in inner)
            yield _Form(written + end, _longest_word(inner))


def _written_char(char: str) -> str:
    """Return the pattern of a character as it is, and as it may be quoted and escaped."""
    if char.isascii() and char.isalnum():
        return char
    quoted = "".join(f"%(?:25){{0,2}}{byte:02x}" for byte in char.encode(errors="replace"))
    in_html = f"&#0{{0,5}}{ord(char)};|&#x0{{0,5}}{ord(char):x};|{re.escape(html.escape(char))}"
    in_json = rf"\\{{0,3}}{re.escape(json.dumps(char)[1:-1])}"
    plus = r"|\+" if char == " " else ""
    return rf"(?:\\{{0,3}}{re.escape(char)}|(?i:{quoted}|{in_html}|{in_json}){plus})"


def _longest_word(text: str) -> str:
    words: list[str] = re.findall("[A-Za-z0-9]*", text)
    return max(words, key=len)


_BASE64_SIGNS: Final = {"+": r"(?:[+-]|%2[bB])", "/": r"(?:\\?/|_|%2[fF])"}


def key_id(key: str | None) -> str:
    """Return a short hash that identifies a key in every process.

    For a provider without keys, pass its address.

    >>> key_id("tvly-secret"), key_id(None)
    ('27e141f96f95', '-')
    """
    if not key:
        return "-"
    text = key.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=6, person=b"provider key").hexdigest()
