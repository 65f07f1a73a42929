"""One case of the hostile site: its server and the expected result of reading it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from .replies import MARKER, SiteReply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...contracts.page import FetchReason

CaseOutcome: TypeAlias = "FetchReason | Literal['read', 'not_modified']"

NO_ROBOTS: Final = SiteReply(b"none here", status=404, kind="text/plain")


@dataclass(frozen=True, slots=True)
class Case:
    """A server of its own, asked for `start`."""

    name: str
    does: str
    """What is hostile or odd about it."""
    outcome: CaseOutcome
    """`read`, `not_modified`, or the reason of the refusal."""
    pages: Mapping[str, SiteReply | tuple[SiteReply, ...]] = field(default_factory=dict)
    """By path; several replies are given in order, and the last one is repeated."""
    robots: SiteReply = NO_ROBOTS
    start: str = "http://{host}/page"
    """The address to read: `{host}` and `{forbidden}` as in replies."""
    text: str = MARKER
    """Must be in the text that was read."""
    not_text: str = ""
    """Must not be in it."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The resolver's answers for a name, in order; the last one is repeated."""
    known: bool = False
    """The page was read before: validators are sent."""
    times: int = 1
    """How often the address is read; the last time counts."""
    slow: bool = False
    """Only a deadline ends it."""


def page_case(name: str, does: str, outcome: CaseOutcome, page: SiteReply, **more: Any) -> Case:
    """Return a case of a single page."""
    return Case(name, does, outcome, {"/page": page}, **more)


def page_cases(
    outcome: CaseOutcome, pages: Mapping[str, tuple[str, SiteReply | bytes]], **more: Any
) -> Iterator[Case]:
    """Yield cases of a single page with one outcome: what is hostile and the reply, by name."""
    for name, (does, page) in pages.items():
        reply = SiteReply(page) if isinstance(page, bytes) else page
        yield page_case(name, does, outcome, reply, **more)
