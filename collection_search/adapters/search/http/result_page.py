"""One page of a vendor's results, read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....contracts.search import ProviderSearchResult, RawSearchResult


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of results, read."""

    rows: Sequence[ProviderSearchResult]
    raw: Sequence[RawSearchResult] = ()
    """The rows as they came, unusable ones included."""
    more: bool | None = None
    """Whether there is a further page; None where the answer does not say."""
    quota_remaining: int | None = None
    notices: Sequence[str] = ()
    cost_usd: float | None = None
    """What the answer says it cost, in US dollars."""
    complete: bool = True
    """Whether it holds all that the vendor would have given, had nothing failed."""
