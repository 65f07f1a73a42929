"""Results of a fetch: a page, or the answer that it has not changed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..errors import FetchReason

__all__ = [
    "FetchReason",
    "FetchedPage",
    "NotModified",
    "PageKind",
    "PageRules",
    "ReadPage",
    "RobotsVerdict",
    "Validators",
]

PageKind = Literal["html", "pdf", "markdown", "rst", "text", "xml", "gzip"]
"""The kind by the first bytes; the declared type decides only where the bytes allow several.
`gzip` is a compressed file, returned only to callers that accept it."""

RobotsVerdict = Literal["allowed", "absent", "ignored"]
"""`absent`: the site has no robots.txt. `ignored`: a setting disables it for the host."""


@dataclass(frozen=True, slots=True)
class Validators:
    """Validators of a page's version, for conditional requests."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as it was received, without content encoding."""

    url: str
    """The address that was asked for."""
    final_url: str
    """The address that answered, after all redirects."""
    status: int
    content_type: str
    """As declared, in lower case, without parameters; empty when nothing was declared."""
    kind: PageKind
    charset: str | None
    """The Python codec that reads the body; None for binary kinds."""
    body: bytes = field(repr=False)
    fetched_at: float
    """Seconds since 1970."""
    validators: Validators = Validators()
    hops: int = 0
    """Redirects that were followed."""
    robots: RobotsVerdict = "allowed"
    robots_tags: tuple[str, ...] = ()
    """The values of its headers X-Robots-Tag."""

    @property
    def content_hash(self) -> str:
        """Return the SHA-256 of the body, hexadecimal; takes about 0.6 ms per megabyte."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class NotModified:
    """The answer that a page still has the version of the validators."""

    url: str
    final_url: str
    validators: Validators
    """The new ones of the site, else those that were sent."""
    fetched_at: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page with its extracted text."""

    url: str
    """The address that was asked for."""
    final_url: str
    """The address that answered, after all redirects."""
    canonical_url: str | None
    """The page's canonical address in normal form, if it is on the same site."""
    title: str
    text: str
    kind: PageKind
    validators: Validators
    content_hash: str
    """SHA-256 of the bytes, hexadecimal."""
    fetched_at: float
    """Seconds since 1970."""
    status: int
    truncated_at_page: int | None = None
    """The last page of a PDF whose text was read, if there are more."""

    @property
    def is_pdf(self) -> bool:
        """Return whether the page is a PDF document."""
        return self.kind == "pdf"


class PageRules(BaseModel):
    """What the work on a page may do: the settings of the same names when it was accepted.

    They travel with the page's row: another process follows them instead of its own settings.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    fetch_allowed: tuple[str, ...] = ()
    fetch_robots: bool = True
    fetch_ignore_robots: tuple[str, ...] = ()
    fetch_retire_forbidden: bool = False
    fetch_noindex: bool = False
    fetch_delay_s: float = 1.0
    fetch_timeout_s: float = 30.0
    fetch_contact: str | None = None
    chunk_chars: int = 1200
    chunk_overlap_chars: int = 150
    proxy: str = ""
    """Hash of the address in the setting `fetch_proxy`; empty without a proxy."""
    run_id: str = ""
    """The run that pays for the work; empty: the one that selected the page."""
    max_cost_usd: float | None = None
    """Ceiling of that run in US dollars; None: that of the worker's settings."""
