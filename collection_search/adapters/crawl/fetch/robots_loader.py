"""Loading of a robots.txt file, and the verdict when that fails (RFC 9309)."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ....errors import FetchError
from .page_response import MOVED, OK, status_error
from .robots import ROBOTS_BYTES, RobotsRules, aparse_robots
from .transfer import Admitted

if TYPE_CHECKING:
    from multidict import CIMultiDictProxy

    from ....errors import FetchReason
    from .session import PoliteSession
    from .transfer import Received, TransferLimits
    from .url_rules import Target, UrlRules

MAX_ROBOTS_HOPS: Final = 5
OWN_CONNECTION: Final[frozenset[FetchReason]] = frozenset(
    {"blocked_address", "connect_failed", "connect_timeout", "dns_failed", "tls_failed"}
)
"""Failures that the pages of the same origin would have too."""
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500


@dataclass(frozen=True, slots=True)
class RobotsLoader:
    """A loader of robots.txt files with the connections of one event loop."""

    session: PoliteSession
    url_rules: UrlRules
    agent: str
    limits: TransferLimits
    deadline_s: float
    """For one file."""

    async def load(self, origin: str) -> RobotsRules:
        """Return the rules of a site. Raises FetchError if its pages must not be fetched."""
        try:
            return await self._robots_of(origin)
        except FetchError as error:
            if error.reason in OWN_CONNECTION:
                raise
            raise _closed(error) from error

    async def _robots_of(self, origin: str) -> RobotsRules:
        target = self.url_rules.target(f"{origin}/robots.txt")
        limits = replace(self.limits, max_bytes=sys.maxsize)  # a longer file is cut
        left_s = self.deadline_s
        rules = RobotsRules(verdict="absent")
        for hops in range(MAX_ROBOTS_HOPS + 1):
            try:
                received, spent_s = await self.session.ask(
                    target, admit=_as_robots, limits=limits, left_s=left_s
                )
            except FetchError as error:
                if error.status == _TOO_MANY:  # like any 4xx: there are no rules, for a minute
                    rules.is_brief = True
                    break
                if hops and error.reason in OWN_CONNECTION:  # another site's connection
                    raise _closed(error) from error
                raise
            left_s -= spent_s
            if received.status not in MOVED or "Location" not in received.headers:
                rules = await self._rules_in(received, target)
                break
            try:
                target = self.url_rules.redirect(target, received.headers["Location"])
            except FetchError as error:
                raise _closed(error) from error
        rules.took_s = self.deadline_s - left_s
        return rules

    async def _rules_in(self, received: Received, target: Target) -> RobotsRules:
        if received.status == OK:
            return await aparse_robots(received.body, self.agent)
        if received.status >= _SERVER_ERROR:
            raise status_error(target.host, received.status)
        return RobotsRules(verdict="absent")


def _as_robots(_head: bytes, _headers: CIMultiDictProxy[str]) -> Admitted:
    return Admitted("text", ROBOTS_BYTES, is_cut=True)


def _closed(error: FetchError) -> FetchError:
    return FetchError(
        f"the robots.txt cannot be read, so nothing is fetched: {error}",
        reason="robots_unreachable",
        retry_in_s=error.retry_in_s,
        status=error.status,
    )
