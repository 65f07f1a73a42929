"""The texts that are judged, and how many of them go into one call."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ...text.untrusted import neutralize

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ...contracts.criteria import JudgedText

RESULT_CHARS: Final = 4_000
"""Of a page's staged text, as far as it is judged with its search result."""
JUDGED_CHARS: Final = 20_000
"""Of a page's text, as far as it is judged before it is stored."""
PAGES_PER_CALL: Final = 8
VERDICTS_PER_CALL: Final = 12
"""More would take a model too long to write."""
CHARS_PER_CALL: Final = 32_000


@dataclass(frozen=True, slots=True)
class TextToJudge:
    """The text of one page, as the model is shown it and quotes must stand in it."""

    kind: JudgedText
    shown: str


@dataclass(slots=True)
class PageBatch:
    """Pages for one call, by their places, with the criteria that they all lack."""

    criteria: list[int]
    places: list[int] = field(default_factory=list)
    chars: int = 0


def text_to_judge(title: str, snippet: str, text: str | None, *, chars: int) -> TextToJudge:
    r"""Return what is judged of a page: title, snippet, and the beginning of a known text.

    >>> text_to_judge("Tea", "It is hot.", "Tea is hot. Drink it.", chars=11).shown
    'Tea\nIt is hot.\nTea is hot.'
    """
    head = [text[:chars]] if text else []
    shown = neutralize("\n".join(filter(None, [title, snippet, *head])))
    return TextToJudge("page" if text else "result", shown)


def pages_per_call(criteria: int) -> int:
    """Return how many pages are judged in one call at most.

    >>> [pages_per_call(criteria) for criteria in (1, 2, 5)]
    [8, 6, 2]
    """
    return min(PAGES_PER_CALL, max(1, VERDICTS_PER_CALL // criteria))


def cut_batches(
    texts: Sequence[TextToJudge], criteria: int, known: Collection[tuple[int, int]]
) -> Iterator[PageBatch]:
    """Yield the pages that lack the same verdicts, in calls of bounded size.

    `known` has the verdicts that are there, by place of text and criterion.
    """
    lacking = {
        place: [n for n in range(criteria) if (place, n) not in known]
        for place in range(len(texts))
    }
    places = sorted((place for place in lacking if lacking[place]), key=lacking.__getitem__)
    for missing, group in groupby(places, key=lacking.__getitem__):
        batch, most = PageBatch(missing), pages_per_call(len(missing))
        for place in group:
            chars = len(texts[place].shown)
            is_full = len(batch.places) == most or batch.chars + chars > CHARS_PER_CALL
            if batch.places and is_full:
                yield batch
                batch = PageBatch(missing)
            batch.places.append(place)
            batch.chars += chars
        yield batch
