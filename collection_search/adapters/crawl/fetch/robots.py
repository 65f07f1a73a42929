"""The rules of robots.txt files (RFC 9309), cached for a day at most."""

from __future__ import annotations

import asyncio
import codecs
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from protego import Protego

from ....errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ....contracts.page import RobotsVerdict

ROBOTS_BYTES: Final = 500 * 1024
"""The rest of a longer file is not read."""
_KEEP_S: Final = 24 * 3600.0
_KEEP_BRIEFLY_S: Final = 60.0
_KEEP_FAILURE_S: Final = 0.5
_KEEP_SITES: Final = 5_000
_KEEP_CHARS: Final = 1_000_000
"""Of the rules of all sites; parsed they take about 40 times as much memory."""
_SMALL_CHARS: Final = 16_384

_TOKEN = re.compile(r"[A-Za-z_-]*")
_AGENT_LINE = re.compile(r"\s*user[- ]?agent\s*[:\s]\s*(.*)", re.IGNORECASE)
_FIELD = re.compile(r"\s*([A-Za-z -]*)")
_LINE_END = re.compile(r"\r\n|\r|\n")


class RobotsRules:
    """The rules of one robots.txt for our user agent."""

    def __init__(
        self, text: str = "", agent: str = "", *, verdict: RobotsVerdict = "allowed"
    ) -> None:
        self.verdict: RobotsVerdict = verdict
        """The verdict for pages that may be fetched."""
        self.took_s = 0.0
        """Duration of the transfer."""
        self.is_brief = False
        """True when they expire soon, since the site answered 429."""
        self._agent = agent
        self.size = len(text)
        """Characters of the groups that apply to us."""
        self._parsed = Protego.parse(text) if text else None
        delay = self._parsed.crawl_delay(agent) if self._parsed else None
        self.crawl_delay_s = delay if delay and math.isfinite(delay) and delay > 0 else 0.0
        """Seconds between two requests that the site asks for, or 0."""

    @property
    def is_large(self) -> bool:
        """True when `allows` may take long and should be called outside of the event loop."""
        return self.size > _SMALL_CHARS

    def allows(self, url: str) -> bool:
        """Return whether the URL may be fetched."""
        return self._parsed is None or self._parsed.can_fetch(url, self._agent)

    @property
    def sitemaps(self) -> list[str]:
        """The addresses in the file, unchecked."""
        return list(self._parsed.sitemaps) if self._parsed else []


def product_token(user_agent: str) -> str:
    """Return the name that is compared with the groups of a robots.txt, in lower case.

    >>> product_token("collection-search/0.1 (+https://example.com)")
    'collection-search'
    """
    found = _TOKEN.match(user_agent.strip())
    return found[0].lower() if found else ""


async def aparse_robots(body: bytes, agent: str) -> RobotsRules:
    """Return the rules like `parse_robots`, without blocking the event loop."""
    if len(body) <= _SMALL_CHARS:
        return parse_robots(body, agent)
    return await asyncio.to_thread(parse_robots, body, agent)


def parse_robots(body: bytes, agent: str) -> RobotsRules:
    r"""Return the rules for the product token `agent` in a robots.txt.

    >>> parse_robots(b"\xef\xbb\xbfUser-agent: Us/1.0\nDisallow: /x", "us").allows("http://a.org/x")
    False
    """
    is_utf16 = body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = body.decode("utf-16" if is_utf16 else "utf-8-sig", "replace")
    return RobotsRules(_our_groups(text, agent), agent)


def _our_groups(text: str, agent: str) -> str:
    """Return the groups for us or for everybody, with agent names reduced to the token.

    The parser would also match names that only begin like ours. Large files have mostly groups for
    other agents.
    """
    lines: list[str] = []
    in_agents = is_ours = False
    for line in _LINE_END.split(text):
        named = _AGENT_LINE.match(line)
        if named:
            name = named[1].strip()
            token = "*" if re.match(r"\*(?:[\s#]|$)", name) else product_token(name)
            is_ours = (in_agents and is_ours) or token in {agent, "*"}
            in_agents = True
            if token in {agent, "*"}:
                lines.append(f"user-agent: {token}")
            continue
        rule = line.partition("#")[0].strip()
        if not rule:
            continue
        field = _FIELD.match(rule)
        is_sitemap = field is not None and field[1].strip().lower().startswith(("sitemap", "site-"))
        in_agents = in_agents and is_sitemap
        if is_ours or is_sitemap:
            lines.append(rule)
    return "\n".join(lines)


@dataclass(slots=True)
class _Load:
    """A running load, and the number of calls that wait for it."""

    task: asyncio.Task[RobotsRules | FetchError]
    waiting: int = 0


class _Known(NamedTuple):
    outcome: RobotsRules | FetchError
    until: float
    keep_s: float


class RobotsCache:
    """A cache of the rules of sites; simultaneous calls for a site share one load.

    `load(origin)` returns the rules, or raises FetchError for a site that cannot be reached.
    """

    def __init__(
        self, load: Callable[[str], Awaitable[RobotsRules]], monotonic: Callable[[], float]
    ) -> None:
        self._load = load
        self._monotonic = monotonic
        self._known: dict[str, _Known] = {}
        self._size = 0
        self._loading: dict[str, _Load] = {}

    async def rules(self, origin: str) -> tuple[RobotsRules, float]:
        """Return the site's rules, and the seconds of their transfer, 0 if they were cached.

        Raises the FetchError of the load, which is cached for half a second; the time doubles with
        each further failure, up to a minute.
        """
        known = self._known.get(origin)
        if known is not None and known.until > self._monotonic():
            return _result(known.outcome), 0.0
        loading = self._loading.get(origin)
        if loading is None:
            loading = _Load(asyncio.get_running_loop().create_task(self._load_of(origin)))
            self._loading[origin] = loading
        loading.waiting += 1
        try:
            rules = _result(await asyncio.shield(loading.task))
        finally:
            loading.waiting -= 1
            if not loading.waiting and not loading.task.done():
                loading.task.cancel()
                if self._loading.get(origin) is loading:  # a later call starts another load
                    del self._loading[origin]
        return rules, rules.took_s

    async def aclose(self) -> None:
        """Cancel the running loads."""
        tasks = [loading.task for loading in self._loading.values()]
        self._loading.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _load_of(self, origin: str) -> RobotsRules | FetchError:
        try:
            outcome: RobotsRules | FetchError = await self._load(origin)
        except FetchError as error:
            outcome = error
        finally:
            mine = self._loading.get(origin)
            if mine is not None and mine.task is asyncio.current_task():
                del self._loading[origin]
        keep_s = self._keep_s(origin, outcome)
        self._forget(origin)
        self._known[origin] = _Known(outcome, self._monotonic() + keep_s, keep_s)
        self._size += outcome.size if isinstance(outcome, RobotsRules) else 0
        while len(self._known) > _KEEP_SITES or (self._size > _KEEP_CHARS and len(self._known) > 1):
            self._forget(next(iter(self._known)))
        return outcome

    def _keep_s(self, origin: str, outcome: RobotsRules | FetchError) -> float:
        """Return how long the outcome is used: a failure no longer than a site may be down."""
        if isinstance(outcome, RobotsRules):
            return _KEEP_BRIEFLY_S if outcome.is_brief else _KEEP_S
        before = self._known.get(origin)
        if before is None or isinstance(before.outcome, RobotsRules):
            return _KEEP_FAILURE_S
        return min(2 * before.keep_s, _KEEP_BRIEFLY_S)

    def _forget(self, origin: str) -> None:
        known = self._known.pop(origin, None)
        if known is not None and isinstance(known.outcome, RobotsRules):
            self._size -= known.outcome.size


def _result(outcome: RobotsRules | FetchError) -> RobotsRules:
    if isinstance(outcome, RobotsRules):
        return outcome
    raise FetchError(  # a new error: one that is raised twice collects tracebacks
        str(outcome),
        reason=outcome.reason,
        retryable=outcome.retryable,
        retry_in_s=outcome.retry_in_s,
        status=outcome.status,
    ) from outcome
