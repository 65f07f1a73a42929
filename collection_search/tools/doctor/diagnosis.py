"""Checks every part.

These are providers, model, embedder, store, queue, tracing, browser, parsers and function
`web_search`.
Paid calls are made on request only, and what is not configured is never contacted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from ...errors import InputError
from ...settings.adapter_factory import search_providers
from ...settings.ensemble import split_names
from ...settings.provider_choice import choose_provider
from .checks import (
    check_browser,
    check_embedder,
    check_model,
    check_parser,
    check_queue,
    check_store,
    check_tracing,
)
from .function_checks import check_web_search
from .search_checks import check_provider
from .spender import SearchProbe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import SearchContext
    from ...settings import Settings
    from .finding import Finding

LIMIT_S: Final = 5.0
"""Time limit of each check."""
BROWSER_LIMIT_S: Final = 30.0
"""That of the browser, which starts slowly on a busy machine."""
IMPORT_LIMIT_S: Final = 30.0
"""That of a parser, whose module may load a model."""


class _How(TypedDict):
    """What all checks have in common."""

    limit_s: float
    contacts: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of every part."""

    findings: Sequence[Finding]
    provider: str
    """The provider of a run; blank where it is not known."""
    reason: str
    notices: Sequence[str] = ()
    """What a run would say of its fallbacks."""

    @property
    def is_well(self) -> bool:
        """Whether everything that is configured works."""
        return all(finding.state != "failed" for finding in self.findings)


async def diagnose(
    context: SearchContext,
    *,
    provider: str | None = None,
    spend: bool = False,
    contacts: bool = True,
    limit_s: float = LIMIT_S,
) -> Diagnosis:
    """Return the state of every part, or of one search provider alone.

    All checks run at the same time, and a failure of one does not affect the others. With `spend`,
    a provider without a free check of its key makes one search for one result. Without `contacts`
    nobody is asked, and what is configured is `unchecked`. Raises InputError for an unknown
    provider, ConfigError for settings that cannot be read.
    """
    settings = context.using()
    names = [provider] if provider else _providers(settings)
    if provider and provider.partition(":")[0] not in (known := search_providers(settings)):
        raise InputError(f"There is no provider {provider!r}. Known: {', '.join(known)}.")
    spender = SearchProbe(context) if spend else None
    how: _How = {"limit_s": limit_s, "contacts": contacts}
    checks = [
        check_provider(settings, name, asked=bool(provider), spender=spender, **how)
        for name in names
    ]
    if not provider:
        checks += [
            check_model(settings, **how),
            check_embedder(settings, **how),
            *(
                check_embedder(settings, beside=name, **how)
                for name in split_names(settings.ensemble)
            ),
            check_store(settings, tenant=context.tenant(), limit_s=limit_s),
            check_tracing(settings, **how),
        ]
        if settings.ingest_engine == "celery":
            checks.append(check_queue(settings, **how))
        if settings.fetch_browser:
            checks.append(check_browser(settings, limit_s=BROWSER_LIMIT_S))
        if settings.parsers:
            checks += [
                check_parser(settings, kind, limit_s=IMPORT_LIMIT_S, contacts=contacts)
                for kind in settings.parsers.named
            ]
        if (entry := settings.web_search) is not None:
            checks.append(check_web_search(context, entry, **how))
    found, (chosen, reason), notices = await asyncio.gather(
        asyncio.gather(*checks), _chosen(settings, limit_s), _notices(context, limit_s)
    )
    told = [replace(one, chosen=(one.part, one.name) == ("search", chosen)) for one in found]
    return Diagnosis(told, chosen, reason, notices)


def _providers(settings: Settings) -> list[str]:
    """Return the known providers, and others in the settings, such as wikipedia:de."""
    known = search_providers(settings)
    named = {settings.provider, settings.default_provider} - {"auto", None, *known}
    return [*known, *sorted(filter(None, named))]


async def _chosen(settings: Settings, limit_s: float) -> tuple[str, str]:
    """Return the provider of a run, and the reason."""
    try:
        async with asyncio.timeout(limit_s):
            return await choose_provider(settings)
    except TimeoutError:
        return "", f"the choice took longer than {limit_s:g} s"
    except Exception as error:  # noqa: BLE001 - the adapter may be a third party's
        return "", f"the default_provider {settings.default_provider} fails: {type(error).__name__}"


async def _notices(context: SearchContext, limit_s: float) -> list[str]:
    """Return the notices of the fallbacks, as in a run; none where the choice itself fails."""
    if not context.using().use_fallback:
        return []
    try:
        async with asyncio.timeout(limit_s):
            _, notices = await context.search_providers()
    except Exception:  # noqa: BLE001 - the checks tell it; an adapter may be a third party's
        return []
    return notices
