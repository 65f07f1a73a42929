"""The rules of the settings that travel with a page of the ledger."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ..contracts.page import PageRules

if TYPE_CHECKING:
    from . import Settings


_NO_FETCH_RULES: Final = {"proxy", "run_id", "max_cost_usd"}


def rules_of(settings: Settings) -> PageRules:
    """Return what pages that are accepted with these settings may do."""
    return PageRules(
        fetch_allowed=tuple(settings.fetch_allowed),
        fetch_robots=settings.fetch_robots,
        fetch_ignore_robots=tuple(settings.fetch_ignore_robots),
        fetch_retire_forbidden=settings.fetch_retire_forbidden,
        fetch_noindex=settings.fetch_noindex,
        fetch_delay_s=settings.fetch_delay_s,
        fetch_timeout_s=settings.fetch_timeout_s,
        fetch_contact=settings.fetch_contact,
        chunk_chars=settings.chunk_chars,
        chunk_overlap_chars=settings.chunk_overlap_chars,
        proxy=proxy_id(settings),
    )


def under_rules(settings: Settings, rules: PageRules | None) -> Settings:
    """Return the settings with the page's rules in place of their own.

    The proxy stays: a worker with another proxy does not take the page. Who pays for the page is
    no setting.
    """
    if rules is None:
        return settings
    update = rules.model_dump(exclude=_NO_FETCH_RULES)
    if update == rules_of(settings).model_dump(exclude=_NO_FETCH_RULES):
        return settings
    update |= {name: list(value) for name, value in update.items() if isinstance(value, tuple)}
    return settings.model_copy(update=update)


def proxy_id(settings: Settings) -> str:
    """Return a hash of the proxy's address without its password; empty without a proxy."""
    if not settings.fetch_proxy:
        return ""
    address = urlsplit(settings.fetch_proxy)
    place = f"{address.scheme}://{address.netloc.rpartition('@')[2]}".lower()
    return hashlib.sha256(place.encode()).hexdigest()[:16]
