"""The context of a caller's run: the operator's, with what a remote caller may choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...context import SearchContext
from ...graphs.served import refuse_unknown_keys
from ...runtime.concurrency import offload
from ...settings.remote_caller import refuse_higher_ceiling, restrict_remote_caller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...contracts.server_run import ServerRun


async def read_choices(
    base: SearchContext, tenant: str, choices: Mapping[str, Any] | None, *, run_id: str | None
) -> SearchContext:
    """Return the context of a run for this tenant.

    The tenant is the authenticated one. The ceiling of the cost is the lowest of the settings',
    the host's and the caller's, whatever a run's state says. Raises ConfigError for a field that a
    remote caller does not have, for a name that the settings do not have, and for a ceiling above
    that of the settings or the host.
    """
    refuse_unknown_keys(choices or {})
    asked = SearchContext.from_map(choices or {})
    settings = await offload(base.using)
    restricted = restrict_remote_caller(asked, None, settings)
    refuse_higher_ceiling(asked.max_cost_usd, base.max_cost_usd)
    ceilings = [base.max_cost_usd, restricted["max_cost_usd"]]
    chosen = {name: getattr(asked, name) for name in asked.model_fields_set}
    return base.model_copy(
        update={
            **chosen,
            **restricted,
            "settings": settings,
            "tenant_id": tenant,
            "run_id": run_id,
            "search_purpose": _searches_purpose(base, restricted["search_purpose"]),
            "max_cost_usd": min((one for one in ceilings if one is not None), default=None),
        }
    )


async def read_run_choices(base: SearchContext, run: ServerRun) -> SearchContext:
    """Return the context of a run that goes on. Raises ConfigError as `read_choices` does.

    A ceiling that is above one of today was accepted before: today's holds.
    """
    choices, settings = dict(run.choices), await offload(base.using)
    ceilings = [choices.get("max_cost_usd"), base.max_cost_usd, settings.max_cost_usd]
    if lowest := [one for one in ceilings if one is not None]:
        choices["max_cost_usd"] = min(lowest)
    return await read_choices(base, run.tenant_id, choices, run_id=run.run_id)


def _searches_purpose(base: SearchContext, chosen: bool | None) -> bool | None:  # noqa: FBT001
    return base.search_purpose if chosen is None else chosen and base.search_purpose is not False
