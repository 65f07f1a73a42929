"""Check of the settings' entry of the function `web_search`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ...errors import ConfigError
from ...settings.provider_choice import choose_provider
from ...settings.table import WEB_SEARCH_ENTRY
from ..search.function_entry import apply_backend, refuse_unusable_backend
from .checks import where_set
from .finding import Finding, failed_finding, uncontacted
from .run_check import run_check
from .search_checks import check_provider

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...settings.function_settings import FunctionEntry

_OFF: Final = "switched off in the settings: no model gets it"
_CHECK_ENTRY: Final = (
    "Correct the entry web_search of the settings, or the settings of its backend."
)
_CHECK_URL: Final = "Check the url of the entry web_search, and run this again."


async def check_web_search(
    context: SearchContext, entry: FunctionEntry, *, limit_s: float, contacts: bool = True
) -> Finding:
    """Return whether models get the function, and the state of its backend; it costs nothing."""
    if not entry.enabled:
        return Finding("function", WEB_SEARCH_ENTRY, detail=_OFF)
    where = where_set(context.using(), WEB_SEARCH_ENTRY)
    finding = Finding("function", WEB_SEARCH_ENTRY, configured_by=where)
    if not contacts:
        return uncontacted(finding)
    check = _examined(context, entry, finding, limit_s)
    return await run_check(finding, check, limit_s=2 * limit_s)


async def _examined(
    context: SearchContext, entry: FunctionEntry, finding: Finding, limit_s: float
) -> Finding:
    try:
        await refuse_unusable_backend(context)
    except ConfigError as error:
        return failed_finding(finding, str(error), _CHECK_ENTRY)
    context = apply_backend(context)
    name = (await choose_provider(context.using(), context.provider)).name
    found = await check_provider(context.using(), name, asked=True, spender=None, limit_s=limit_s)
    finding = replace(finding, state=found.state, reachable=found.reachable, key=found.key)
    if found.state != "failed":
        return replace(finding, detail=f"backend {name}")
    step = found.next_step if entry.settings.url is None else _CHECK_URL
    return replace(finding, detail=f"backend {name}: {found.detail}", next_step=step)
