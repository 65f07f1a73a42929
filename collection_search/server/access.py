"""Who calls: the tenant, user and role of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, HTTPException, Request

from ..runtime.concurrency import offload
from ..settings.access_tokens import AccessTokens, Role

if TYPE_CHECKING:
    from ..settings import Settings

__all__ = [
    "Admin",
    "Caller",
    "IsAllowed",
    "Operator",
    "Reviewer",
    "Role",
    "Viewer",
    "authenticate",
    "find_caller",
    "is_operator",
    "recheck",
    "require",
    "require_operator",
]


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated caller of a request; the tenant comes from the token alone."""

    tenant: str
    user: str
    role: Role

    def refusal(self, role: Role) -> str:
        """Return what is said to a caller who lacks the role."""
        return f"This needs the role {role.name}; yours is {self.role.name}."


async def find_caller(authorization: str | None, settings: Settings) -> Caller | None:
    """Return whom the header's token stands for; None without a token that is valid."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        return None
    found = await offload(AccessTokens(settings.home).find, token.strip())
    return Caller(found.tenant, found.user, found.role) if found else None


async def authenticate(request: Request) -> Caller:
    """Return the caller that the middleware found. Raises HTTPException with status 401."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        raise HTTPException(401, "This needs a token.", {"WWW-Authenticate": "Bearer"})
    return caller


def require(role: Role) -> Callable[..., Caller]:
    """Return the dependency of a route that needs the role. It raises status 403."""

    def allowed(caller: Annotated[Caller, Depends(authenticate)]) -> Caller:
        if caller.role < role:
            raise HTTPException(403, caller.refusal(role))
        return caller

    return allowed


def is_operator(caller: Caller, settings: Settings) -> bool:
    """Return whether the caller runs this server: an admin of the tenant in its settings."""
    return caller.role >= Role.admin and caller.tenant == settings.tenant


async def require_operator(
    request: Request, caller: Annotated[Caller, Depends(require(Role.admin))]
) -> Caller:
    """Return the caller of a route about the server as a whole. Raises HTTPException (403)."""
    settings: Settings = request.app.state.context.using()
    if not is_operator(caller, settings):
        raise HTTPException(
            403,
            f"This concerns the whole server: it needs an admin of the tenant {settings.tenant}.",
        )
    return caller


async def recheck(
    request: Request, caller: Annotated[Caller, Depends(authenticate)]
) -> Callable[[], Awaitable[bool]]:
    """Return what tells later on, while an answer is sent, whether the token is still valid."""
    settings: Settings = request.app.state.context.using()

    async def is_allowed() -> bool:
        if not settings.server_auth:
            return True
        return await find_caller(request.headers.get("authorization"), settings) == caller

    return is_allowed


IsAllowed = Annotated[Callable[[], Awaitable[bool]], Depends(recheck)]
Viewer = Annotated[Caller, Depends(require(Role.viewer))]
Reviewer = Annotated[Caller, Depends(require(Role.reviewer))]
Admin = Annotated[Caller, Depends(require(Role.admin))]
Operator = Annotated[Caller, Depends(require_operator)]
