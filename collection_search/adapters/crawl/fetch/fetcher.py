"""The safe fetch: the only way to addresses that came from the web.

Every redirect passes the same URL rules, robots.txt and throttle as the first address. Requests
carry no cookies and no credentials, and ignore proxy variables of the environment.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ....contracts.page import FetchedPage, NotModified
from ....errors import ConfigError, FetchError
from ...per_loop import PerLoop
from .connector import GuardedConnector, SystemResolver
from .page_response import MOVED, NOT_MODIFIED, build_page, conditions, media_type, validators_in
from .policy import FetchPolicy
from .public_hosts import check_host, show_host
from .robots import RobotsCache, product_token
from .robots_loader import RobotsLoader
from .session import PoliteSession
from .shared_turns import SharedTurns
from .sniffing import sniff_page
from .transfer import Admitted, TransferLimits
from .url_rules import UrlRules

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from aiohttp.abc import AbstractResolver
    from multidict import CIMultiDictProxy

    from ....contracts.page import PageKind, RobotsVerdict, Validators
    from ....ports.pages import RequestTurns
    from ...per_loop import Sockets
    from .policy import Clock
    from .transfer import Received
    from .url_rules import Target

__all__ = ["PAGES", "FetchPolicy", "SafeFetcher"]

PAGES: Final[frozenset[PageKind]] = frozenset({"html", "pdf", "markdown", "rst", "text", "xml"})
"""What `fetch` accepts by default."""
_ROBOTS_SHARE: Final = 0.5
_MEDIA_TYPE = re.compile(r"(?=.{3,40}\Z)[\w.+-]+/[\w.+-]+", re.ASCII)


class _Home(NamedTuple):
    """The objects that belong to one event loop."""

    session: PoliteSession
    robots: RobotsCache

    async def aclose(self) -> None:
        await self.robots.aclose()
        await self.session.aclose()


class _Answer(NamedTuple):
    """The answer of the address that the redirects lead to."""

    target: Target
    received: Received
    hops: int
    robots: RobotsVerdict


class SafeFetcher:
    """A fetcher of web pages for any number of calls at once, on several event loops.

    Connections, throttles and robots.txt belong to one event loop and end with it. `resolver`
    replaces the system's name lookup; the throttles use `clock` and `sleep`, and share `turns` with
    other processes.
    """

    def __init__(
        self,
        policy: FetchPolicy | None = None,
        *,
        resolver: AbstractResolver | None = None,
        clock: Clock = time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        turns: RequestTurns | None = None,
    ) -> None:
        self.policy = policy = policy or FetchPolicy()
        self._url_rules = UrlRules(ports=policy.ports, entries=policy.allowed_addresses)
        self._resolver = resolver or SystemResolver()
        self._clock = clock
        self._sleep = sleep
        self._turns = None if turns is None else SharedTurns(turns, monotonic=clock.monotonic)
        self._ignored = frozenset(check_host(host).name for host in policy.ignore_robots_hosts)
        self._agent = product_token(policy.user_agent)
        if not self._agent:
            raise ConfigError("the user agent has to begin with a name of letters, '-' and '_'")
        self._limits = TransferLimits(
            connect_timeout_s=policy.connect_timeout_s,
            min_rate=policy.min_rate,
            grace_s=policy.rate_grace_s,
            max_ratio=policy.max_ratio,
            max_bytes=max(policy.max_html_bytes, policy.max_pdf_bytes),
        )
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

        `source` is the page or file that contains the address, if the caller did not choose it: of
        the operator's named addresses it may lead only to those of its own host.

        Raises FetchError with reason, `retryable` and `retry_in_s`.
        """
        target = self._url_rules.target(
            url, source=self._url_rules.target(source) if source else None
        )
        headers = conditions(validators)
        answer = await self._follow(target, partial(self._admitted, accept), headers)
        now, received = self._clock.time(), answer.received
        if received.status == NOT_MODIFIED and validators and headers:
            new = validators_in(received.headers) or validators
            return NotModified(url, answer.target.url, new, now)
        return build_page(
            url, answer.target, received, fetched_at=now, hops=answer.hops, robots=answer.robots
        )

    async def fetch_part(
        self, url: str, *, page: str, headers: Mapping[str, str], take: Callable[[int], None]
    ) -> Received:
        """Return what a script of the page asks for, whatever its kind is, under the same rules.

        Of the operator's named addresses it may be one of the page's own host. `take` is told the
        size of each piece that has arrived, and may refuse it by FetchError. Raises FetchError.
        """
        target = self._url_rules.target(url, source=self._url_rules.target(page))
        limit = Admitted(None, self.policy.max_html_bytes, take=take)
        return (await self._follow(target, lambda *_: limit, headers)).received

    async def sitemaps(self, url: str) -> list[str]:
        """Return the sitemaps that the site's robots.txt names, unchecked. Raises FetchError."""
        home = await self._homes.get()
        rules, _ = await home.robots.rules(self._url_rules.target(url).origin)
        return rules.sitemaps

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._homes.aclose()

    async def _follow(
        self,
        target: Target,
        admit: Callable[[Target, bytes, CIMultiDictProxy[str]], Admitted],
        headers: Mapping[str, str],
    ) -> _Answer:
        """Return the answer after all redirects, each of which passes all rules."""
        home = await self._homes.get()
        left_s = self.policy.deadline_s
        for hops in range(self.policy.max_redirects + 1):
            try:
                verdict, took_s = await self._permission(home, target)
                left_s -= took_s
                received, spent_s = await home.session.ask(
                    target,
                    admit=partial(admit, target),
                    limits=self._limits,
                    left_s=left_s,
                    headers=headers,
                )
            except FetchError as error:
                error.host = target.netloc
                raise
            left_s -= spent_s
            if received.status not in MOVED or "Location" not in received.headers:
                return _Answer(target, received, hops, verdict)
            target = self._url_rules.redirect(target, received.headers["Location"])
        text = f"{show_host(target.host)} redirects more than {self.policy.max_redirects} times"
        raise FetchError(text, reason="too_many_redirects")

    def _home(self, sockets: Sockets) -> _Home:
        policy, url_rules = self.policy, self._url_rules
        connector = GuardedConnector(url_rules, self._resolver, sockets)
        session = PoliteSession(
            policy, connector, clock=self._clock, sleep=self._sleep, turns=self._turns
        )
        deadline_s = policy.deadline_s * _ROBOTS_SHARE
        loader = RobotsLoader(session, url_rules, self._agent, self._limits, deadline_s)
        return _Home(session, RobotsCache(loader.load, self._clock.monotonic))

    async def _permission(self, home: _Home, target: Target) -> tuple[RobotsVerdict, float]:
        """Return the verdict of robots.txt, and the seconds that its transfer took."""
        policy = self.policy
        if not policy.robots or target.host in self._ignored:
            return "ignored", 0.0
        rules, took_s = await home.robots.rules(target.origin)
        allows = partial(rules.allows, target.url)
        if not (await asyncio.to_thread(allows) if rules.is_large else allows()):
            text = f"the robots.txt of {show_host(target.host)} does not allow this page"
            raise FetchError(text, reason="robots_disallowed")
        home.session.keep_delay(target, rules.crawl_delay_s)
        return rules.verdict, took_s

    def _admitted(
        self, accept: Collection[str], target: Target, head: bytes, headers: CIMultiDictProxy[str]
    ) -> Admitted:
        declared = media_type(headers.get("Content-Type", ""))
        kind = sniff_page(head, declared, target.url.partition("?")[0])
        if kind is None or kind not in accept:
            raise FetchError(
                f"{show_host(target.host)} sent {kind or 'binary data'}"
                f" (declared: {_shown_type(declared)}), which is not accepted here",
                reason="unsupported_type",
            )
        policy = self.policy
        return Admitted(kind, policy.max_pdf_bytes if kind == "pdf" else policy.max_html_bytes)


def _shown_type(declared: str) -> str:
    """Return the type that a site declares, if it is one: a header could be a sentence."""
    return declared if _MEDIA_TYPE.fullmatch(declared) else "an unknown type"
