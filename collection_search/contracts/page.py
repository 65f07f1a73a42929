"""What fetching gives: a page of the web, or the word that it has not changed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal

from ..errors import FetchReason

__all__ = [
    "FetchReason",
    "FetchedPage",
    "NotModified",
    "PageKind",
    "ReadPage",
    "RobotsVerdict",
    "Validators",
]

PageKind = Literal["html", "pdf", "markdown", "rst", "text", "xml", "gzip"]
"""What the first bytes are; the declared type decides only where the bytes allow several. `gzip`
is a packed file, given only to callers that accept it."""

RobotsVerdict = Literal["allowed", "absent", "ignored"]
"""`absent`: the site has no robots.txt. `ignored`: the operator switched it off for the host."""


@dataclass(frozen=True, slots=True)
class Validators:
    """What a site gave to recognise a version of a page by; sent back to ask for changes only."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """One page as it was received, the content encoding taken away."""

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

    @property
    def content_hash(self) -> str:
        """SHA-256 of the body, hexadecimal; computed when asked for, about 0.6 ms a megabyte."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class NotModified:
    """The page is the one that the validators were taken from."""

    url: str
    final_url: str
    validators: Validators
    """As the site gave them now, else those that were sent."""
    fetched_at: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """What a page of the web says."""

    url: str
    """The address that was asked for."""
    final_url: str
    """The address that answered, after all redirects."""
    canonical_url: str | None
    """What the page calls its own address, if that is on the same site; in normal form."""
    title: str
    text: str
    kind: PageKind
    validators: Validators
    content_hash: str
    """SHA-256 of the bytes, hexadecimal."""
    fetched_at: float
    """Seconds since 1970."""
    status: int

    @property
    def is_pdf(self) -> bool:
        """Tell whether the page is a PDF document."""
        return self.kind == "pdf"
