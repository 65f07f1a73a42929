"""Secrets to plant, and every form in which one could come out again."""

from __future__ import annotations

import base64
import json
import traceback
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

VENDORS: Final = (
    "brave",
    "exa",
    "google",
    "kagi",
    "linkup",
    "mojeek",
    "perplexity",
    "serpapi",
    "serper",
    "tavily",
)
"""Those that need a key."""
_OTHERS: Final = (
    "chat",
    "embeddings",
    "langfuse",
    "chat-password",
    "embeddings-password",
    "langfuse-password",
    "proxy-password",
    "keyring",
    "result-user",
    "result-password",
    "foreign-bearer",
    "foreign-parameter",
)
SECRETS: Final[Mapping[str, str]] = {
    name: f"walled-{name}/garden+of~{name}-roses-7" for name in (*VENDORS, *_OTHERS)
}
"""By what they open. None has a form that a mask knows, and all are quoted in an address."""
_HALF: Final = 12
"""Characters of a secret that are one already."""


def quoted(name: str) -> str:
    """Return a secret as the part of an address."""
    return quote(SECRETS[name], safe="")


def encodings(secret: str) -> tuple[str, ...]:
    """Return a secret as servers may repeat it."""
    return (
        quote(secret, safe=""),
        quote(secret, safe="").lower(),
        json.dumps(secret)[1:-1].replace("/", "\\/"),
        base64.b64encode(secret.encode()).decode(),
        base64.b64encode(f"me:{secret}".encode()).decode(),
        secret.encode().hex(),
    )


def leaks(where: str, *told: Any) -> list[str]:
    """Return which secrets stand there, in any form: texts, bytes, objects and files.

    >>> leaks("here", {"key": SECRETS["tavily"]})
    ['tavily in here: walled-tavily/garden+of~tavily-roses-7']
    """
    text = "\n".join(map(_text, told))
    return [
        f"{name} in {where}: {found}"
        for name, forms in _FORMS.items()
        if (found := next((form for form in forms if form in text), None))
    ]


def chain(error: BaseException) -> str:
    """Return an exception with all that it was raised from, as text, by attribute and pickled."""
    parts = ["".join(traceback.format_exception(error))]
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        parts += [repr(each), str(each), repr(each.args), repr(vars(each))]
        parts.append(repr(each.__reduce_ex__(4)))
        parts += getattr(each, "__notes__", ())
        waiting += [inner for inner in (each.__cause__, each.__context__) if inner is not None]
    return "\n".join(parts)


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Give every file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes()


def _text(told: Any) -> str:
    if isinstance(told, bytes):
        return told.decode("latin-1")
    if isinstance(told, str):
        return told
    if isinstance(told, BaseException):
        return chain(told)
    try:
        plain = json.dumps(told, default=repr)
    except (TypeError, ValueError):
        plain = ""
    return f"{plain}\n{told!r}\n{told}"


def _forms_of(secret: str) -> Iterator[str]:
    """Yield the secret and its halves: as it is, quoted, encoded, backwards."""
    half = len(secret) // 2
    yield from (secret, quote(secret, safe=""), quote(secret), quote_plus(secret))
    yield from (quote(secret, safe="").lower(), json.dumps(secret)[1:-1])
    yield from (secret.encode().hex(), secret.encode().hex().upper())
    for start in range(3):  # wherever it stands in what was encoded
        inner = base64.b64encode(secret[start:].encode()).decode().rstrip("=")[:-2]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))
    for part in (secret[:half], secret[half:]):
        if len(part) >= _HALF:
            yield from (part, part[::-1], quote(part, safe=""))
    yield secret[::-1][:_HALF]


_FORMS: Final = {name: tuple(_forms_of(secret)) for name, secret in SECRETS.items()}
