"""One page of a vendor's results, and how a vendor names the parts of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ....contracts.search import ProviderSearchResult
from ....text.timestamps import read_date
from .json_values import read_share, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from ....contracts.search import RawSearchResult


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of results."""

    rows: Sequence[ProviderSearchResult]
    raw: Sequence[RawSearchResult] = ()
    """The rows as they came, unusable ones included."""
    more: bool | None = None
    """Whether there is a further page; None where the answer does not say."""
    quota_remaining: int | None = None
    notices: Sequence[str] = ()
    cost_usd: float | None = None
    """The cost in US dollars that the answer states."""
    complete: bool = True
    """Whether it holds all that the vendor would have given, had nothing failed."""


class Paging(NamedTuple):
    """The parameter for a page, which counts pages or rows from `first`."""

    name: str
    first: int = 0
    counts_rows: bool = False

    def parameter(self, count: int, page: int) -> dict[str, int]:
        """Return the parameter for a page of `count` rows."""
        return {self.name: self.first + page * (count if self.counts_rows else 1)}


@dataclass(frozen=True, slots=True)
class RowNames:
    """The vendor's names for the parts of a result; blank where a result has no such part."""

    url: str = "url"
    title: str = "title"
    snippet: str = "snippet"
    score: str = ""
    content: str = ""
    dates: tuple[str, ...] = ()
    """The first of these that holds a date counts."""

    def read(
        self, row: dict[str, Any], *, source: str, today: Callable[[], date]
    ) -> ProviderSearchResult:
        """Return the result in a row; a value of a wrong type counts as missing."""
        score, content = self.score, self.content
        published = None
        for name in self.dates:
            if written := row.get(name):
                published = published or read_date(written, today=today())
        return ProviderSearchResult(
            url=read_text(row.get(self.url)),
            title=read_text(row.get(self.title)),
            snippet=read_text(row.get(self.snippet)),
            source=source,
            score=read_share(row.get(score)) if score else None,
            content=(read_text(row.get(content)) or None) if content else None,
            published_date=published,
        )
