"""What a collection answers: its dashboard, a new verification, and a refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field

from ...contracts.coverage import Coverage
from ...contracts.refresh_report import RefreshReport  # noqa: TC001 - FastAPI reads it
from ...errors import InputError
from ...runtime.concurrency import offload
from ...tools.coverage.dashboard import Dashboard, aread_dashboard
from ...tools.coverage.verification import averify_shown
from ..access import Reviewer, Viewer  # noqa: TC001 - FastAPI reads it
from ..opened import Base, CollectionName, context_of, open_collection
from ..places import HiddenPlaces, Places  # noqa: TC001
from ..refreshes import CurrentRefreshes, RefreshState  # noqa: TC001

if TYPE_CHECKING:
    from ..opened import OpenedCollection

router = APIRouter(tags=["coverage"])

ToldT = TypeVar("ToldT", bound=BaseModel)


class ToVerify(BaseModel):
    """Which questions are verified."""

    model_config = ConfigDict(extra="forbid")

    question: str | None = Field(
        default=None,
        max_length=2000,
        description="As it was asked, or as the dashboard shows it. Without one each question that"
        " filled the collection is verified.",
    )


class Verified(Coverage):
    """How far the collection answers one question."""

    question: str


class AllVerified(BaseModel):
    """How far the collection answers each of its questions."""

    questions: list[Verified]


class ToRefresh(BaseModel):
    """What a refresh does besides looking at the pages again."""

    model_config = ConfigDict(extra="forbid")

    ask: bool = Field(default=True, description="Ask the collection's questions again.")
    crawl: bool = Field(default=True, description="Repeat its crawls.")


@router.get("/collections/{name:path}/coverage")
async def read_coverage(name: CollectionName, caller: Viewer, base: Base) -> Dashboard:
    """Return the questions of a collection with answered and open queries; nothing is asked."""
    return await aread_dashboard(name, context=context_of(base, caller))


@router.post("/collections/{name:path}/coverage")
async def verify_coverage_anew(
    name: CollectionName,
    caller: Reviewer,
    base: Base,
    given: Annotated[ToVerify | None, Body()] = None,
) -> Verified | AllVerified:
    """Verify a question anew, or all questions that filled the collection."""
    opened = await open_collection(base, caller, name)
    if given is not None and given.question is not None:
        return await _verified(opened, given.question)
    records = await offload(opened.store.collections.questions, opened.scope)
    if not records:
        raise InputError(
            f"{name!r} was not filled by a question, so there is none to verify: give one."
        )
    return AllVerified(questions=[await _verified(opened, one.question) for one in records])


@router.post("/collections/{name:path}/refresh")
async def refresh_collection(
    name: CollectionName,
    caller: Reviewer,
    base: Base,
    refreshes: CurrentRefreshes,
    *,
    places: HiddenPlaces,
    given: Annotated[ToRefresh | None, Body()] = None,
) -> RefreshReport:
    """Ask the questions again, repeat the crawls and look at the pages again.

    It answers when that is done. A refresh goes on if the caller leaves, and a second request for
    the same collection waits for the one that runs.
    """
    opened = await open_collection(base, caller, name)
    asked = given or ToRefresh()
    report = await refreshes.run(opened.context, name, ask=asked.ask, crawl=asked.crawl)
    return _shown(report, places)


@router.get("/collections/{name:path}/refresh")
async def read_refresh(
    name: CollectionName,
    caller: Viewer,
    base: Base,
    refreshes: CurrentRefreshes,
    places: HiddenPlaces,
) -> RefreshState:
    """Return how far the refresh of the collection is, or how the last one of this server ended."""
    await open_collection(base, caller, name)
    return _shown(refreshes.state(caller.tenant, name), places)


def _shown(told: ToldT, places: Places) -> ToldT:
    """Return what is told of a refresh, without the places."""
    return type(told).model_validate(places.hide_in(told.model_dump()))


async def _verified(opened: OpenedCollection, question: str) -> Verified:
    coverage = await averify_shown(
        question, collection=opened.scope.collection, context=opened.context
    )
    return {"question": coverage["queries"][0]["query"], **coverage}
