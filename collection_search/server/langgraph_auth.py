"""Access to a LangGraph server: its own threads, runs, assistants and store.

The same tokens as for our own paths. What has no rule here is refused.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from langgraph_sdk import Auth

from ..settings.process_defaults import process_settings
from ..settings.remote_caller import LOCAL_USER
from .access import Caller, Role, find_caller

auth = Auth()
OWNER: Final = "collection_search_owner"
"""Key of the metadata that names whose a thread is."""
REVIEWED: Final = "reviewed_thread"
"""Key of the user that names a thread which he may resume although it is another user's."""
_RESUMING: Final = frozenset({"read", "create_run"})
"""What a run needs that is resumed by another user than its own."""
_CHANGING: Final = frozenset({"create", "create_run", "update", "delete"})


@auth.authenticate
async def find_user(authorization: str | None) -> dict[str, Any]:
    """Return the user of a request. Raises an HTTP error with status 401."""
    settings = process_settings()
    if not settings.server_auth:
        return {"identity": LOCAL_USER, "is_authenticated": False, "permissions": []}
    caller = await find_caller(authorization, settings)
    if caller is None:
        raise Auth.exceptions.HTTPException(
            status_code=401, detail="This needs a token: send 'Authorization: Bearer TOKEN'."
        )
    return user_of(caller)


def user_of(caller: Caller) -> dict[str, Any]:
    """Return a caller in the server's form; the identity is of one user of one tenant.

    A user's name has no slash, so no two users have the same identity.
    """
    return {
        "identity": f"{caller.tenant}/{caller.user}",
        "display_name": caller.user,
        "is_authenticated": True,
        "permissions": [caller.role.name],
        "tenant": caller.tenant,
        "user": caller.user,
        "role": caller.role.name,
    }


def reviewer_of(caller: Caller, thread_id: str) -> dict[str, Any]:
    """Return a caller who decides a review of his tenant, whose run is in this thread.

    Reviews belong to the tenant, threads to the user. No request over the network has this user.
    """
    return user_of(caller) | {REVIEWED: thread_id}


def namespace_of(user: Any) -> str:
    """Return the first part of the names of what a user keeps in the server's store.

    A dot separates parts in an address, so it is written as %2E. The slash at the end keeps one
    user's part from being the beginning of another's.
    """
    return quote(f"{user.identity}/", safe="/@").replace(".", "%2E")


@auth.on
async def refuse_all(ctx: Auth.types.AuthContext, value: Any) -> bool:  # noqa: ARG001
    """Refuse what has no rule of its own: schedules too, whose runs nobody would answer for."""
    return _is_open(ctx)


@auth.on.threads
async def limit_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str] | None:
    """Open to users their own threads and the runs in them; a viewer reads."""
    if _is_open(ctx):
        return None
    if ctx.action in _CHANGING:
        _require(ctx, Role.reviewer)
    if ctx.action in _RESUMING and _is_reviewed(ctx.user, value.get("thread_id")):
        return None
    if ctx.action in _CHANGING:
        if not isinstance(value.get("metadata"), dict):
            value["metadata"] = {}
        value["metadata"][OWNER] = ctx.user.identity  # in place: the server reads its own map
    return {OWNER: ctx.user.identity}


def _is_reviewed(user: Any, thread_id: Any) -> bool:
    """Return whether the user decides a review in this thread."""
    reviewed = getattr(user, REVIEWED, None)
    return reviewed is not None and thread_id is not None and str(thread_id) == reviewed


@auth.on.assistants
async def limit_assistants(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str] | bool | None:
    """Open to all users the server's own assistants, which are its graphs.

    One that a user makes would be seen by all tenants; the context of a run has the same choices.
    """
    del value
    if _is_open(ctx):
        return None
    return {"created_by": "system"} if ctx.action in {"read", "search"} else False


@auth.on.store
async def limit_store(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Open to users what lies below their own name. Raises an HTTP error with status 403."""
    if _is_open(ctx):
        return
    if ctx.action in {"put", "delete"}:
        _require(ctx, Role.reviewer)
    own = namespace_of(ctx.user)
    if tuple(value.get("namespace") or ())[:1] != (own,):
        raise Auth.exceptions.HTTPException(
            status_code=403, detail=f"A namespace of yours begins with {own!r}."
        )


def _is_open(ctx: Auth.types.AuthContext) -> bool:
    """Return whether everybody may do everything; the user that a request came with decides."""
    return not process_settings().server_auth and ctx.user.identity == LOCAL_USER


def _require(ctx: Auth.types.AuthContext, role: Role) -> None:
    own = Role.__members__.get(next(iter(ctx.permissions), ""), None)
    if own is None or own < role:
        raise Auth.exceptions.HTTPException(
            status_code=403, detail=f"This needs the role {role.name}."
        )
