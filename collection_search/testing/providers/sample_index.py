"""The made-up index that every dialect searches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from ...contracts.options import NO_OPTIONS, SearchOptions, in_domains

TOPICS: Final = {"asyncio": 45, "sqlite": 7, "python": 230, "markup": 1}
"""Pages that a query with this word finds; a query without any of the words finds none."""

_NEWEST: Final = datetime(2026, 3, 3, 9, 30, tzinfo=UTC)

TODAY: Final = _NEWEST.date()
"""The day on which the index is searched, for vendors that write "3 days ago"."""

_DAYS_OF_A_WEEK: Final = 7


@dataclass(frozen=True, slots=True)
class SamplePage:
    """One page of the index, independent of any vendor."""

    topic: str
    number: int
    """Its rank, from 1."""

    @property
    def id(self) -> int:
        """A number of its own."""
        return 1000 * (1 + list(TOPICS).index(self.topic)) + self.number

    @property
    def host(self) -> str:
        """The site that it is on."""
        return "docs.example.org" if self.number % 2 else "blog.example.com"

    @property
    def url(self) -> str:
        """Its address; every tenth is a PDF that its address does not show."""
        return f"https://{self.host}/{self.topic}/{self.number}"

    @property
    def title(self) -> str:
        """A title that needs quoting in an address and in HTML."""
        return f"{self.topic.capitalize()} & friends: what is part {self.number}/9?"

    @property
    def snippet(self) -> str:
        """One line of plain text that needs escaping in HTML."""
        if self.topic == "markup":
            return "The <b> element of markup makes words bold: AT&T's example."
        return f'How {self.topic} works & what "await" means if x < {self.number}: it\'s simple.'

    @property
    def published(self) -> datetime:
        """When it was published; the best page is the newest."""
        return _NEWEST - timedelta(days=self.number)

    @property
    def age(self) -> str:
        """When it was published, as Google says it: relative to `TODAY` in the first week.

        >>> (SamplePage("asyncio", 1).age, SamplePage("asyncio", 3).age,
        ...  SamplePage("asyncio", 12).age)
        ('1 day ago', '3 days ago', 'Feb 19, 2026')
        """
        if self.number <= _DAYS_OF_A_WEEK:
            return f"{self.number} day{'s' if self.number > 1 else ''} ago"
        return f"{self.published:%b} {self.published.day}, {self.published.year}"

    @property
    def is_pdf(self) -> bool:
        """Whether it is a PDF."""
        return self.number % 10 == 0


def find_hits(query: str, options: SearchOptions = NO_OPTIONS) -> list[SamplePage]:
    """Return the pages about the query's topic that fit domains and freshness, best first.

    >>> [page.url for page in find_hits("How does SQLite lock?")][:2]
    ['https://docs.example.org/sqlite/1', 'https://blog.example.com/sqlite/2']
    >>> find_hits("qzxv jwkpf")
    []
    """
    words = set(re.findall(r"\w+", re.sub(r"\S+:\S+", "", query.lower())))
    topic = next((topic for topic in TOPICS if topic in words), None)
    pages = [SamplePage(topic, n) for n in range(1, TOPICS[topic] + 1)] if topic else []
    pages = [page for page in pages if _fits(page, options)]
    return sorted(pages, key=lambda page: not in_domains(page.host, options.include_domains))


def _fits(page: SamplePage, options: SearchOptions) -> bool:
    first, last = options.published(TODAY)
    day = page.published.date()
    return (
        (not options.restricts or in_domains(page.host, options.include_domains))
        and not in_domains(page.host, options.exclude_domains)
        and (first is None or first <= day)
        and (last is None or day <= last)
    )


def highlight(text: str, topic: str, before: str, after: str) -> str:
    """Return HTML with the topic's word between marks, as vendors highlight what was found.

    >>> highlight("Why sqlite & <co>", "sqlite", "<strong>", "</strong>")
    'Why <strong>sqlite</strong> &amp; &lt;co&gt;'
    """
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = escaped.replace('"', "&quot;").replace("'", "&#x27;")
    return re.sub(rf"\b({topic})\b", rf"{before}\1{after}", escaped, flags=re.IGNORECASE)
