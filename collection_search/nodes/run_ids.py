"""The ids, the case and the workflow of the run to which a stage belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic import ValidationError

from ..contracts.search import BusinessContext
from ..errors import InputError
from ..runtime.concurrency import offload
from ..settings.run_seal import is_sealed, seal_ids

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from ..context import SearchContext
    from ..contracts.state import RunIds


def with_business(context: SearchContext, before: Mapping[str, Any], graph: str) -> SearchContext:
    """Return the context with the case and the workflow that the run began with.

    A run begins with those of its context; without a workflow it has the name of its `graph`.
    """
    known = _business_in(before)
    found = {
        "case_id": known.case_id or context.case_id,
        "workflow_id": known.workflow_id or context.workflow_id or graph or None,
    }
    is_same = all(getattr(context, name) == value for name, value in found.items())
    return context if is_same else context.model_copy(update=found)


def _business_in(before: Mapping[str, Any]) -> BusinessContext:
    """Return what a state says of it; nothing where a caller has written another form."""
    told = before.get("business")
    try:
        return BusinessContext.model_validate(told or {})
    except ValidationError:
        return BusinessContext()


class FoundIds(NamedTuple):
    """The ids of a run."""

    ids: RunIds
    is_new: bool
    """Whether the run begins here and can have spent nothing."""


async def find_run_ids(
    before: Mapping[str, Any], context: SearchContext, runtime: Runtime[Any]
) -> FoundIds:
    """Return the ids in a state; those of a new run where it has none.

    Raises InputError where the run is another tenant's. On a server a caller may write the state:
    ids that the server did not make are refused too. Its own are those of its execution, and their
    `invocation_id` is a seal over the tenant.
    """
    host_run_id = getattr(runtime.execution_info, "run_id", None)
    known = ids_in(before)
    if runtime.server_info is None:
        refuse_other_tenant(before.get("tenant_id"), context.tenant())
        is_new = known is None and context.run_id is None and host_run_id is None
        return FoundIds(known or context.ids(host_run_id), is_new)
    home, tenant = context.using().home, context.tenant()
    if "ids" in before:
        if known is None or not await offload(
            is_sealed, known["invocation_id"], home, tenant, known["run_id"], known["trace_id"]
        ):
            raise InputError(
                "The ids in this thread's state are not those of its run, so it does not go on."
                " Start a new run."
            )
        return FoundIds(known, is_new=False)
    ids = context.ids(host_run_id)
    ids["invocation_id"] = await offload(seal_ids, home, tenant, ids["run_id"], ids["trace_id"])
    return FoundIds(ids, is_new=False)


def refuse_other_tenant(owner: str | None, tenant: str) -> None:
    """Raise InputError where a run's thread has another `owner` than the context's tenant."""
    if owner not in (None, tenant):
        raise InputError(
            "This thread was started for another tenant than the context's, so it does not go on."
            " Give the context that it was started with, as `context`: LangGraph does not keep it."
        )


def ids_in(before: Mapping[str, Any]) -> RunIds | None:
    """Return the run's ids from the state; None where there are none that can be used."""
    ids = before.get("ids")
    if not isinstance(ids, Mapping):
        return None
    known = [ids.get(name) for name in ("trace_id", "invocation_id", "run_id")]
    return (
        cast("RunIds", ids) if all(known) and all(isinstance(one, str) for one in known) else None
    )
