"""Which parts are set up and work; never a key."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from ...tools.doctor.diagnosis import diagnose
from ..access import Viewer, is_operator
from ..opened import Base, context_of
from ..places import HiddenPlaces  # noqa: TC001 - FastAPI reads it

router = APIRouter(tags=["settings"])


class ChosenProvider(BaseModel):
    """The search provider of a run, and why it is taken."""

    name: str
    reason: str


class SetUp(BaseModel):
    """What is set up."""

    findings: list[dict[str, Any]] = Field(
        description="One a part, as `collection-search doctor --json` has them."
    )
    is_well: bool = Field(description="Whether nothing that is set up is known to fail.")
    checked: bool = Field(description="Whether providers and models were contacted.")
    tenant: str
    home: str | None = Field(default=None, description="The data folder; for the operator.")
    provider: ChosenProvider


@router.get("/settings")
async def read_settings(
    caller: Viewer, base: Base, places: HiddenPlaces, *, check: bool = False
) -> SetUp:
    """Return what is set up. With `check` each part is contacted, for nothing; operator only."""
    context = context_of(base, caller)
    sees_all = is_operator(caller, context.using())
    if check and not sees_all:
        raise HTTPException(403, "Live checks need an admin of the server's own tenant.")
    found, show = await diagnose(context, contacts=check), places.hide_in_settings
    return SetUp(
        findings=[show(_finding(one.as_json(), sees_all=sees_all)) for one in found.findings],
        is_well=found.is_well,
        checked=check,
        tenant=caller.tenant,
        home=str(context.using().home) if sees_all else None,
        provider=ChosenProvider(name=show(found.provider), reason=show(found.reason)),
    )


def _finding(finding: dict[str, Any], *, sees_all: bool) -> dict[str, Any]:
    """Return a finding; only the operator reads where the store and the broker are."""
    if finding["part"] in {"store", "queue"} and not sees_all:
        return finding | {"detail": "", "next_step": ""}
    return finding
