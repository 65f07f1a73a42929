"""Limits of requests and runs per minute, for each tenant."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from ..resilience.rate_limit import RateLimiter
from .access import Role
from .asgi import is_of_process, path_of, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from ..settings import Settings
    from .access import Caller

_STARTING: Final = {
    "ask": Role.viewer,
    **dict.fromkeys(
        ("runs", "stream", "wait", "batch", "commands", "resume", "decision", "ingestions",
         "retry", "refresh", "coverage", "mcp", "crons"),
        Role.reviewer,
    ),
}  # fmt: skip
"""Last part of the paths to which a POST starts work that costs money or time, with the role that
it needs."""
_MINUTE_S: Final = 60.0


class RequestLimits:
    """A middleware that answers 429 to a tenant whose callers ask too often.

    Up to a minute's requests may come at once. What the caller's role forbids is a request, but no
    run. Without tokens everybody is the operator, who is not limited.
    """

    def __init__(
        self, app: ASGIApp, *, settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._clock = clock
        self._is_on = settings.server_auth
        self._per_minute = {
            "requests": settings.server_requests_per_minute,
            "runs": settings.server_runs_per_minute,
        }
        self._limiters: dict[tuple[str, str], RateLimiter] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        caller: Caller | None = scope.get("state", {}).get("caller")
        if self._is_on and caller is not None and not is_of_process(scope):
            wait_s = self._wait_s(caller.tenant, starts=starts_work(scope, caller.role))
            if wait_s > 0:
                left = str(math.ceil(wait_s))
                said = f"Too many requests of this tenant: ask again in {left} s."
                await refuse(scope, send, 429, said, {"retry-after": left})
                return
        await self._app(scope, receive, send)

    def _wait_s(self, tenant: str, *, starts: bool) -> float:
        kinds = ["runs", "requests"] if starts else ["requests"]
        waits = (self._limiter(tenant, kind).reserve(max_wait_s=0.0).wait_s for kind in kinds)
        return next((wait_s for wait_s in waits if wait_s > 0), 0.0)

    def _limiter(self, tenant: str, kind: str) -> RateLimiter:
        """Return the limiter of a tenant; tenants are as many as the operator made."""
        key, count = (tenant, kind), self._per_minute[kind]
        if key not in self._limiters:
            self._limiters[key] = RateLimiter(_MINUTE_S / count, burst=count, clock=self._clock)
        return self._limiters[key]


def starts_work(scope: Scope, role: Role) -> bool:
    """Return whether the request starts a run, an ingestion or an answer, as the role permits."""
    if scope["type"] != "http":
        return True
    parts = path_of(scope).rstrip("/").split("/")
    needed = Role.reviewer if parts[1:2] == ["a2a"] else _STARTING.get(parts[-1])
    return scope["method"] == "POST" and needed is not None and role >= needed
