"""The settings of the safe fetch: limits, delays per host and the operator's exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ....ports.ledger import PER_HOST
from ...http import USER_AGENT
from .url_rules import WEB_PORTS


class Clock(Protocol):
    """A source of the time, such as the module `time`."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        ...

    def time(self) -> float:
        """Return the seconds since 1970."""
        ...


@dataclass(frozen=True, kw_only=True)
class FetchPolicy:
    """Limits, and delays per host; times in seconds, sizes in bytes."""

    deadline_s: float = 30.0
    """For one address with robots.txt, redirects and retries, without waits for the throttle."""
    connect_timeout_s: float = 10.0
    """Name lookup, all addresses of the name and the TLS handshake together."""
    min_rate: float = 1_000.0
    """Received bytes per second of a body on average, checked after `rate_grace_s`."""
    rate_grace_s: float = 5.0
    max_html_bytes: int = 10_000_000
    """Of a decoded body that is no PDF."""
    max_pdf_bytes: int = 30_000_000
    max_ratio: float = 100.0
    """Of decoded to received bytes, once 1 MB is decoded."""
    max_redirects: int = 5
    ports: frozenset[int] = WEB_PORTS
    robots: bool = True
    ignore_robots_hosts: frozenset[str] = frozenset()
    """Hosts whose robots.txt the operator may ignore; their pages are marked `ignored`."""
    per_host_connections: int = PER_HOST
    min_delay_s: float = 1.0
    """Between the starts of two requests to a host; a process sets it by `fetch_delay_s`."""
    max_delay_s: float = 30.0
    """The longest Crawl-delay or back-off that is used."""
    max_wait_s: float = 60.0
    """For the host's throttle."""
    max_retry_after_s: float = 10.0
    """The longest total wait for Retry-After within one call."""
    allowed_addresses: frozenset[str] = frozenset()
    """Permitted addresses outside the public web, as `host:port`, such as `wiki.intra:443`."""
    user_agent: str = USER_AGENT
    egress_proxy: str | None = field(default=None, repr=False)
    """The http(s) address of a proxy for all pages; it decides which addresses are allowed."""
