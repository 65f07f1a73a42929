"""Whether a text that a search provider delivered may be stored."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ...ports.description import read_info
from ...settings import registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...contracts.ingestion import IngestionItem


@functools.cache
def may_store(provider: str) -> bool:
    """Tell whether the provider's terms allow it, as its adapter says.

    An adapter that says nothing, such as a caller's own object, leaves it to the caller.
    """
    try:
        adapter = registry.load_adapter("search", provider)
    except (ConfigError, ImportError):
        return True
    return read_info(adapter).storage_rights in {None, "allowed"}


def storing_providers(names: Iterable[str]) -> set[str]:
    """Return those of the providers whose texts may be stored; it may import their adapters."""
    return {name for name in names if may_store(name)}


def apply_storage_rights(items: Iterable[IngestionItem]) -> list[IngestionItem]:
    """Return the pages; one whose text may not be stored is to be fetched instead."""
    return [
        item
        if item.content_ref is None or may_store(str(item.provenance.get("provider", "")))
        else replace(item, content_ref=None)
        for item in items
    ]
