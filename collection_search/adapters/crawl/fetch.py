"""The one way to addresses that came from the web: judged, polite, bounded.

Every hop of a redirect passes the same gate, the same robots.txt and the same turns as the first
address. Nothing identifies the caller: no cookies, no credentials, no variables of the
environment. What goes wrong is a FetchError with a typed reason.
"""

from __future__ import annotations

import asyncio
import sys
import time
import weakref
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import aiohttp

from ...errors import ConfigError, FetchError
from ...pages import FetchedPage, NotModified
from .addresses import Gate, judged_host
from .answers import (
    MOVED,
    NOT_MODIFIED,
    OK,
    THROTTLED,
    conditions,
    media_type,
    page_of,
    retry_after_s,
    throttled,
    validators_in,
)
from .decoding import ACCEPTED
from .dial import JudgedConnector, SystemResolver
from .policy import FetchPolicy
from .politeness import Manners, Turns
from .robots import ROBOTS_BYTES, RobotsCache, Rules, product_token, read_rules
from .sessions import PerLoop
from .sniffing import sniff_page
from .transfer import Admit, Admitted, Limits, Received, exchange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from aiohttp.abc import AbstractResolver
    from multidict import CIMultiDictProxy

    from ...errors import FetchReason
    from ...pages import PageKind, RobotsVerdict, Validators
    from .addresses import Target
    from .policy import Clock
    from .sessions import Sockets

__all__ = ["PAGES", "FetchPolicy", "SafeFetcher"]

PAGES: Final[frozenset[PageKind]] = frozenset({"html", "pdf", "markdown", "rst", "text", "xml"})
"""What `fetch` accepts unless told otherwise."""
MAX_ROBOTS_HOPS: Final = 5

OWN_CONNECTION: Final[frozenset[FetchReason]] = frozenset(
    {"blocked_address", "connect_failed", "connect_timeout", "dns_failed", "tls_failed"}
)
"""Failures of a robots.txt that the page of the same origin meets too."""
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500
_MAX_ATTEMPTS: Final = 3
_ROBOTS_SHARE: Final = 0.5
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_ACCEPT: Final = "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.1"


@dataclass(frozen=True, slots=True)
class _Home:
    """What belongs to one event loop."""

    session: aiohttp.ClientSession
    turns: Turns
    robots: RobotsCache

    async def aclose(self) -> None:
        await self.robots.aclose()
        await self.session.close()


class SafeFetcher:
    """Fetches pages of the web. One serves any number of calls at once, on several loops.

    Connections, turns and robots.txt are kept per event loop and end with it. `resolver` answers
    name lookups in place of the system; `clock` and `sleep` drive the waiting for turns.
    """

    def __init__(
        self,
        policy: FetchPolicy | None = None,
        *,
        resolver: AbstractResolver | None = None,
        clock: Clock = time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.policy = policy = policy or FetchPolicy()
        self._gate = Gate(ports=policy.ports, entries=policy.allowed_addresses)
        self._resolver = resolver or SystemResolver()
        self._clock = clock
        self._sleep = sleep
        self._ignored = frozenset(judged_host(host).name for host in policy.ignore_robots_hosts)
        self._agent = product_token(policy.user_agent)
        if not self._agent:
            raise ConfigError("the user agent has to begin with a name of letters, '-' and '_'")
        self._limits = Limits(
            connect_timeout_s=policy.connect_timeout_s,
            min_rate=policy.min_rate,
            grace_s=policy.rate_grace_s,
            max_ratio=policy.max_ratio,
            max_bytes=max(policy.max_html_bytes, policy.max_pdf_bytes),
        )
        self._robots_limits = replace(self._limits, max_bytes=sys.maxsize)  # they are cut
        self._homes = PerLoop(self._home, _Home.aclose)

    async def fetch(
        self,
        url: str,
        *,
        validators: Validators | None = None,
        accept: frozenset[PageKind] = PAGES,
        source: str | None = None,
    ) -> FetchedPage | NotModified:
        """Return the page, or NotModified when `validators` still fit.

        `source` is the address of the page or file that led to it, where nobody asked for it: of
        the operator's named addresses it may lead only to its own host's.

        Raises FetchError: `reason` says why, `retryable` and `retry_in_s` whether and when another
        attempt may help.
        """
        target = self._gate.target(url, source=self._gate.target(source) if source else None)
        home = await self._homes.get()
        headers = conditions(validators)
        left_s = self.policy.deadline_s
        for hops in range(self.policy.max_redirects + 1):
            verdict, took_s = await self._permission(home, target)
            admit = partial(self._admitted, target, accept)
            received, spent_s = await self._asked(
                home,
                target,
                admit=admit,
                limits=self._limits,
                left_s=left_s - took_s,
                headers=headers,
            )
            left_s -= took_s + spent_s
            if received.status in MOVED and "Location" in received.headers:
                target = self._gate.redirected(target, received.headers["Location"])
                continue
            if received.status == NOT_MODIFIED and validators and headers:
                new = validators_in(received.headers) or validators
                return NotModified(url, target.url, new, self._clock.time())
            return page_of(
                url,
                target,
                received,
                fetched_at=self._clock.time(),
                hops=hops,
                robots=verdict,
            )
        raise FetchError(
            f"{target.host} redirects more than {self.policy.max_redirects} times",
            reason="too_many_redirects",
        )

    async def sitemaps(self, url: str) -> list[str]:
        """Return the addresses of sitemaps that the robots.txt of the URL's site names.

        They are as the site wrote them. Raises FetchError.
        """
        home = await self._homes.get()
        rules, _ = await home.robots.rules(self._gate.target(url).origin)
        return rules.sitemaps

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._homes.aclose()

    def _home(self, sockets: Sockets) -> _Home:
        policy, clock = self.policy, self._clock
        session = aiohttp.ClientSession(
            connector=JudgedConnector(self._gate, self._resolver, sockets),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={
                "User-Agent": policy.user_agent,
                "Accept": _ACCEPT,
                "Accept-Encoding": ACCEPTED,
            },
            auto_decompress=False,
            trust_env=False,
        )
        session._retry_connection = False  # noqa: SLF001 - every request takes its turn
        manners = Manners(
            connections=policy.per_host_connections,
            min_delay_s=policy.min_delay_s,
            max_delay_s=policy.max_delay_s,
            max_wait_s=policy.max_wait_s,
        )
        turns = Turns(manners, clock.monotonic, self._sleep)
        robots = RobotsCache(_loader(weakref.ref(self)), clock.monotonic)
        return _Home(session, turns, robots)

    async def _asked(
        self,
        home: _Home,
        target: Target,
        *,
        admit: Admit,
        limits: Limits,
        left_s: float,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> tuple[Received, float]:
        """Return the answer and the seconds of its transfers; a short Retry-After is obeyed."""
        turns = home.turns.of(target.site)
        spent_s = waited_s = 0.0
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            await turns.enter()
            started = time.monotonic()
            try:
                received = await exchange(
                    home.session,
                    target,
                    headers=headers,
                    limits=limits,
                    admit=admit,
                    deadline_s=left_s - spent_s,
                    proxy=self.policy.egress_proxy,
                )
            finally:
                turns.leave()
                spent_s += time.monotonic() - started
            if received.status not in THROTTLED:
                turns.answered()
                return received, spent_s
            asked_s = retry_after_s(received.headers, self._clock.time())
            wait_s = turns.throttled(asked_s)
            waited_s += wait_s
            is_long = asked_s is None or waited_s > self.policy.max_retry_after_s
            if is_long or attempt == _MAX_ATTEMPTS:
                raise throttled(target.host, received.status, wait_s)
        raise AssertionError  # the last attempt returns or raises

    async def _permission(self, home: _Home, target: Target) -> tuple[RobotsVerdict, float]:
        """Return what robots.txt says, and the seconds that its transfer took of the deadline."""
        policy = self.policy
        if not policy.robots or target.host in self._ignored:
            return "ignored", 0.0
        rules, took_s = await home.robots.rules(target.origin)
        if rules.is_large:
            allowed = await asyncio.to_thread(rules.allows, target.url)
        else:
            allowed = rules.allows(target.url)
        if not allowed:
            raise FetchError(
                f"the robots.txt of {target.host} does not allow this page",
                reason="robots_disallowed",
            )
        home.turns.of(target.site).ask_delay(rules.crawl_delay_s)
        return rules.verdict, took_s

    def _admitted(
        self,
        target: Target,
        accept: frozenset[PageKind],
        head: bytes,
        headers: CIMultiDictProxy[str],
    ) -> Admitted:
        declared = media_type(headers.get("Content-Type", ""))
        kind = sniff_page(head, declared, target.url.partition("?")[0])
        if kind is None or kind not in accept:
            raise FetchError(
                f"{target.host} sent {kind or 'binary data'} (declared: {declared[:80]!r}), "
                "which is not read here",
                reason="unsupported_type",
            )
        policy = self.policy
        return Admitted(kind, policy.max_pdf_bytes if kind == "pdf" else policy.max_html_bytes)

    async def _load_robots(self, origin: str) -> Rules:
        """Return the rules of a site. Raises FetchError where its pages are not to be fetched."""
        try:
            return await self._robots_of(origin)
        except FetchError as error:
            if error.reason in OWN_CONNECTION:
                raise
            raise _closed(error) from error

    async def _robots_of(self, origin: str) -> Rules:
        home = await self._homes.get()
        target = self._gate.target(f"{origin}/robots.txt")
        left_s = full_s = self.policy.deadline_s * _ROBOTS_SHARE
        rules = Rules(verdict="absent")
        for hops in range(MAX_ROBOTS_HOPS + 1):
            try:
                received, spent_s = await self._asked(
                    home, target, admit=_as_robots, limits=self._robots_limits, left_s=left_s
                )
            except FetchError as error:
                if error.status == _TOO_MANY:  # a 4xx: there are no rules, for the moment
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
                target = self._gate.redirected(target, received.headers["Location"])
            except FetchError as error:
                raise _closed(error) from error
        rules.took_s = full_s - left_s
        return rules

    async def _rules_in(self, received: Received, target: Target) -> Rules:
        if received.status == OK:
            return await read_rules(received.body, self._agent)
        if received.status >= _SERVER_ERROR:
            raise FetchError(
                f"{target.host} answered with HTTP status {received.status}",
                reason="robots_unreachable",
                status=received.status,
            )
        return Rules(verdict="absent")


def _loader(fetcher: weakref.ref[SafeFetcher]) -> Callable[[str], Awaitable[Rules]]:
    """Return what loads a robots.txt without keeping the fetcher: whoever asks does."""

    async def load(origin: str) -> Rules:
        its = fetcher()
        if its is None:
            raise FetchError("nobody fetches any more", reason="robots_unreachable")
        return await its._load_robots(origin)  # noqa: SLF001 - its own

    return load


def _as_robots(_head: bytes, _headers: CIMultiDictProxy[str]) -> Admitted:
    return Admitted("text", ROBOTS_BYTES, is_cut=True)


def _closed(error: FetchError) -> FetchError:
    return FetchError(
        f"the robots.txt cannot be had, so nothing is fetched: {error}",
        reason="robots_unreachable",
        retry_in_s=error.retry_in_s,
        status=error.status,
    )
