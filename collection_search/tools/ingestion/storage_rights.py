"""Storage rights: whether the text of a search provider may be stored."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ...ports.description import describe, is_runnable, read_info
from ...settings import registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...contracts.ingestion import IngestionItem
    from ...settings import Settings


def may_store(provider: str, settings: Settings) -> bool:
    """Return whether the provider's terms allow it; True if its adapter says nothing."""
    described = settings.described(provider)
    return _allows(provider) if described is None else described.storage_rights == "allowed"


@functools.cache
def _allows(provider: str) -> bool:
    try:
        adapter = registry.load_adapter("search", provider)
    except (ConfigError, ImportError):
        return True
    return read_info(adapter).storage_rights in {None, "allowed"}


def storing_providers(names: Iterable[str], settings: Settings, given: object = None) -> set[str]:
    """Return the providers whose texts may be stored; may import their adapters.

    What a live adapter that the caller has `given` says of its provider counts first.
    """
    allowed = {name for name in names if may_store(name, settings)}
    if given is None or isinstance(given, str) or is_runnable(given):
        return allowed
    info = describe(given).info
    return allowed - {info.name} if info.storage_rights not in {None, "allowed"} else allowed


def apply_storage_rights(items: Iterable[IngestionItem], settings: Settings) -> list[IngestionItem]:
    """Return the pages without texts that may not be stored: these pages are fetched."""
    return [
        item
        if item.content_ref is None or may_store(str(item.provenance.get("provider", "")), settings)
        else replace(item, content_ref=None)
        for item in items
    ]
