"""Criteria that every page of a run must meet, and the verdicts about them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from ..text.clean import to_unicode

MAX_CRITERIA: Final = 5
MAX_CRITERION_CHARS: Final = 300

CriterionAnswer = Literal["yes", "no", "unclear"]
"""`unclear`: the text does not tell, or the model's quote does not stand in it."""

UnclearPages = Literal["keep", "refuse"]
"""What happens to a page about which a verdict is unclear."""

JudgedText = Literal["result", "page"]
"""`result`: title and snippet of the search result. `page`: also the beginning of its text."""


class CriterionVerdict(TypedDict):
    """What a model said of one page and one criterion."""

    criterion: str
    verdict: CriterionAnswer
    reason: str
    quote: str
    """Stands in the judged text, white space aside; empty for `unclear`."""


class PageCriteria(TypedDict):
    """How one page meets the criteria of its run."""

    judged: JudgedText
    verdicts: list[CriterionVerdict]
    """In the order of the criteria."""
    refused: bool
    reason: str
    """Why the page is refused; empty for one that is not."""
    unclear: UnclearPages
    """The setting `criteria_unclear` of the run."""
    on_page: bool
    """Whether the page's text is judged before it is stored: the setting `criteria_on_pages`."""
    overruled_by: NotRequired[str]
    """The person who approved the page although it is refused."""


def normalize_criteria(given: list[str]) -> list[str]:
    """Return the criteria with single blanks, each once.

    Raises ValueError for one that is empty or too long.

    >>> normalize_criteria([" It names  a price ", "It names a price", "It is from 2024"])
    ['It names a price', 'It is from 2024']
    """
    found: dict[str, str] = {}
    for one in given:
        criterion = " ".join(to_unicode(one).split())
        if not any(char.isalnum() for char in criterion):
            raise ValueError("a criterion is empty: say what a page must meet")
        if len(criterion) > MAX_CRITERION_CHARS:
            raise ValueError(f"a criterion has more than {MAX_CRITERION_CHARS} characters")
        found.setdefault(criterion.casefold(), criterion)
    return list(found.values())


Criteria = Annotated[list[str], Field(max_length=MAX_CRITERIA), AfterValidator(normalize_criteria)]
"""Conditions that every page must meet."""
