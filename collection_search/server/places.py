"""Where this server's data and models are: its operator is told, other callers are not."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Depends

from ..errors import ConfigError
from ..settings.ensemble import split_names
from ..settings.served_form import ADDRESS_OR_PATH
from ..text.redaction import mask_text
from ..text.written_texts import change_written
from .access import Caller, authenticate, is_operator
from .opened import Base  # noqa: TC001 - FastAPI reads it

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..context import SearchContext
    from ..settings import Settings

_SHORTEST: Final = 4
"""Fewest characters of a place; a shorter one occurs in other words."""
_FOLDER: Final = "(data folder)"
_DATABASE: Final = "of this server"
_HOST: Final = "(database server)"
_ADDRESS: Final = "(address)"
_ASKED: Final = frozenset(
    ("question", "purpose", "criteria", "query", "queries", "searched", "gaps", "next_queries")
)
"""Fields of what a person asked: a place there is known to that person, and is asked again."""


class Places:
    """The data folder, the database and the models' folders and addresses of a server.

    Texts for its callers do not name them; of a model's folder they name the last part.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        """Hide the places of the settings; without settings nothing is hidden."""
        url = settings.database_url if settings else None
        folder = str(settings.home) if settings else ""
        names = _model_names(settings) if settings else ()
        self._rules = _rules_of(folder, url.get_secret_value() if url else "", names)

    def hide(self, text: str) -> str:
        """Return the text without the places."""
        for pattern, replacement in self._rules:
            text = pattern.sub(replacement, text)
        return text

    def hide_in_settings(self, value: Any) -> Any:
        """Return a copy of JSON-plain settings without the places, and for nobody with a secret.

        A key or an address with its login may stand where the name of a model belongs.
        """
        if isinstance(value, str):
            return mask_text(self.hide(value), personal=False)
        if isinstance(value, Mapping):
            return {name: self.hide_in_settings(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.hide_in_settings(inner) for inner in value]
        return value

    def hide_in(self, value: Any) -> Any:
        """Return a copy of a JSON-plain value without the places; pages and questions stay."""
        return change_written(value, self._hidden_in)

    def _hidden_in(self, field: str, text: str) -> str:
        return text if field in _ASKED else self.hide(text)


def places_of(context: SearchContext) -> Places:
    """Return the places of the context's settings; wrong settings have none."""
    try:
        return Places(context.using())
    except ConfigError:
        return Places()


def hidden_from(caller: Caller | None, context: SearchContext) -> Places:
    """Return the places that a caller is not told: none for the operator."""
    try:
        settings = context.using()
    except ConfigError:  # nobody knows who is the operator
        return Places()
    return Places() if caller and is_operator(caller, settings) else Places(settings)


async def caller_places(base: Base, caller: Annotated[Caller, Depends(authenticate)]) -> Places:
    """Return the places that the caller of a route is not told."""
    return hidden_from(caller, base)


HiddenPlaces = Annotated[Places, Depends(caller_places)]


@lru_cache(maxsize=16)
def _rules_of(
    folder: str, url: str, names: tuple[str, ...] = ()
) -> list[tuple[re.Pattern[str], str]]:
    """Return what is replaced by what, in order: a host is a part of the database's name."""
    databases, hosts = _database_names(url) if url else ([], [])
    rules = [(re.escape(name), _DATABASE) for name in databases]
    rules += [(_quoted(name), rf"\1\2{_HOST}\3") for name in hosts]
    rules += [(_bounded(name), _HOST) for name in filter(_is_distinct, hosts)]
    rules += [rule for name in names for rule in _rules_of_model(name)]
    rules += [(_bounded(folder), _FOLDER)] if len(folder) >= _SHORTEST else []
    return [(re.compile(pattern), replacement) for pattern, replacement in rules]


def _model_names(settings: Settings) -> tuple[str, ...]:
    """Return the names of models that hold a path or an address, in every form that errors have."""
    given = (settings.model, settings.embeddings, settings.reranker)
    names = [*filter(None, given), *split_names(settings.ensemble)]
    return tuple(name for name in names if ADDRESS_OR_PATH.search(name))


def _rules_of_model(name: str) -> Iterator[tuple[str, str]]:
    """Yield what is replaced by what for a name with an address, or with the path of a folder."""
    if "://" in name:
        yield re.escape(name), _ADDRESS
        return
    vendor, _, path = name.partition(":")
    path = (path if vendor.isalpha() and len(vendor) > 1 else name).rstrip("/\\")
    shown = re.split(r"[/\\]", path)[-1]
    for written in {path, os.path.expanduser(path)}:  # noqa: PTH111 - as the folder is read
        if len(written) >= _SHORTEST:
            yield _bounded(written), shown.replace("\\", "")


def _database_names(url: str) -> tuple[list[str], list[str]]:
    """Return how errors name the database, and its hosts, longest first."""
    try:
        from ..adapters.stores.postgres.store_errors import hosts_of, server_of
    except ImportError:  # without the driver there are no errors of the database
        return [], []
    hosts = hosts_of(url)
    return [server_of(url)] if hosts else [], sorted(hosts, key=len, reverse=True)


def _is_distinct(host: str) -> bool:
    """Return whether a host is no plain word, so that it means the server wherever it stands."""
    return len(host) >= _SHORTEST and bool(re.search("[./:]", host))


def _quoted(host: str) -> str:
    """Return the pattern of a host as errors quote it, with the address that was found for it.

    What a quoted name means is told by the words before: it may be that of a collection too.
    """
    name = re.escape(host)
    return rf"""(?i)\b(host|host name|server at)(:? ["']){name}(["'])(?: \([\w.:%]+\))?"""


def _bounded(path: str) -> str:
    """Return the pattern of a path or a host that is no part of a longer one."""
    return rf"(?<![\w./~-]){re.escape(path)}(?![\w-]|\.\w)"
