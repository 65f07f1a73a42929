"""What a score means: the share of relevant pages that was measured in each band of points."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

BAND_EDGES: Final = (50, 60, 70, 80, 90, 100)
"""A band reaches from one edge to below the next; the last one includes 100."""

# Measured on the labelled sets by `python benchmarks/ranking.py PATH_TO_POOLS`, which prints them.
RELEVANT_SHARES: Final[Mapping[str, tuple[float, ...]]] = {
    "lexical": (0.21, 0.30, 0.52, 0.76, 0.94),
    "dense": (0.20, 0.38, 0.56, 0.76, 0.97),
}
"""By scale: the share of relevant pages among those in each band."""


def relevant_share(scale: str, score: float) -> float | None:
    """Return the share of relevant pages in the score's band, 0-1; None where none was measured.

    >>> relevant_share("lexical", 49.99), relevant_share("literal", 80)
    (None, None)
    >>> relevant_share("dense", 100) == RELEVANT_SHARES["dense"][-1]
    True
    """
    if scale not in RELEVANT_SHARES or score < BAND_EDGES[0]:
        return None
    return RELEVANT_SHARES[scale][_band(score)]


def describe_band(scale: str, score: float) -> str:
    """Return what the score means, as the end of a sentence.

    >>> describe_band("lexical", 12)
    'no share of relevant pages was measured below 50 points'
    >>> describe_band("literal", 70)
    'no share of relevant pages was measured on this scale'
    """
    share = relevant_share(scale, score)
    if share is None:
        where = f"below {BAND_EDGES[0]} points" if scale in RELEVANT_SHARES else "on this scale"
        return f"no share of relevant pages was measured {where}"
    band = _band(score)
    return (
        f"of pages with {BAND_EDGES[band]} to {BAND_EDGES[band + 1]} points about"
        f" {100 * share:.0f} of 100 were relevant on the labelled sets"
    )


def _band(score: float) -> int:
    return bisect_right(BAND_EDGES, score, 1, len(BAND_EDGES) - 1) - 1
