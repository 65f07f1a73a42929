"""Verdicts from a model's reply: their form, their quotes, and what follows for the page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from ...contracts.criteria import (
    MAX_CRITERIA,
    CriterionAnswer,
    CriterionVerdict,
    PageCriteria,
    normalize_criteria,
)
from ...text.clean import excerpt, to_unicode
from ...text.untrusted import neutralize_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...contracts.criteria import JudgedText, UnclearPages

MIN_QUOTE_CHARS: Final = 4
"""Letters and digits of the shortest quote: less stands in nearly every text."""
_REASON_CHARS: Final = 240
_QUOTE_CHARS: Final = 400
_MARKS: Final = "\"'`\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"
"""Quotation marks."""
_JSON_START: Final = re.compile(r"[{\[]")
_MAX_UNREADABLE: Final = 200
"""Brackets of a reply that begin no JSON; with more of them none of its verdicts count."""
_ANSWERS: Final = frozenset(get_args(CriterionAnswer))
NO_VERDICT: Final = "The model gave no verdict."
_TWO_VERDICTS: Final = "The model gave two different verdicts."


@dataclass(frozen=True, slots=True)
class ClaimedVerdict:
    """A verdict as the model wrote it: its quote is not checked."""

    verdict: CriterionAnswer
    quote: str = ""
    reason: str = ""


def parse_verdicts(
    reply: str, *, pages: int, criteria: int
) -> dict[tuple[int, int], ClaimedVerdict]:
    """Return the verdicts of a reply by place of page and criterion, from 0.

    The JSON may stand between other words, and may be cut off: every complete row counts. A row
    whose numbers, verdict or texts are of another type, or out of range, is left out. Two different
    verdicts about the same are unclear, wherever they stand: a reply may quote a page that claims
    verdicts about itself.

    >>> row = '{"page": 1, "criterion": 1, "verdict": "Yes", "quote": "hot tea", "reason": "ok"}'
    >>> parse_verdicts('Here: {"verdicts": [' + row + ', {"page": true}]}', pages=1, criteria=1)
    {(0, 0): ClaimedVerdict(verdict='yes', quote='hot tea', reason='ok')}
    """
    found: dict[tuple[int, int], ClaimedVerdict] = {}
    for row in _rows(reply):
        place = _place(row.get("page"), pages), _place(row.get("criterion"), criteria)
        claimed = _claimed(row)
        if place[0] is None or place[1] is None or claimed is None:
            continue
        key = place[0], place[1]
        if found.setdefault(key, claimed).verdict != claimed.verdict:
            found[key] = ClaimedVerdict("unclear", reason=_TWO_VERDICTS)
    return found


def _rows(reply: str) -> list[Mapping[str, Any]]:
    """Return the rows of all JSON in the reply; none where too much of it cannot be read."""
    decoder, place, unreadable = json.JSONDecoder(), 0, 0
    rows: list[Mapping[str, Any]] = []
    while (start := _JSON_START.search(reply, place)) is not None:
        try:
            value, place = decoder.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            place = start.end()
            if (unreadable := unreadable + 1) > _MAX_UNREADABLE:
                return []
            continue
        rows += _rows_inside(value)
    return rows


def _rows_inside(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the objects with a verdict, at any depth."""
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and "verdict" in one:
            yield one
        elif isinstance(one, dict | list):
            waiting.extend(reversed(one.values() if isinstance(one, dict) else one))


def _place(given: object, count: int) -> int | None:
    """Return the place, from 0, of a number from 1."""
    return given - 1 if type(given) is int and 1 <= given <= count else None


def _claimed(row: Mapping[str, Any]) -> ClaimedVerdict | None:
    verdict, quote, reason = row.get("verdict"), row.get("quote", ""), row.get("reason", "")
    if not (isinstance(verdict, str) and isinstance(quote, str) and isinstance(reason, str)):
        return None
    word = verdict.strip().lower()
    return (
        ClaimedVerdict(cast("CriterionAnswer", word), quote, reason) if word in _ANSWERS else None
    )


def find_quote(quote: str, text: str) -> str | None:
    r"""Return the quote as it stands in the text, with single blanks; None where it does not.

    It may be in quotation marks. White space counts as one blank; everything else must be the same.

    >>> find_quote('"hot  tea"', "We sell hot\ntea.")
    'hot tea'
    >>> find_quote("Hot tea", "We sell hot tea.") is find_quote("tea", "hot tea") is None
    True
    """
    plain = " ".join(text.split())
    words = " ".join(to_unicode(quote).split())
    for one in (words, words.strip(_MARKS).strip()):
        if sum(map(str.isalnum, one)) >= MIN_QUOTE_CHARS and one in plain:
            return one[:_QUOTE_CHARS].rstrip()
    return None


def check_verdict(criterion: str, claimed: ClaimedVerdict, text: str) -> CriterionVerdict:
    """Return the verdict; `unclear` unless a "yes" or "no" has a quote that stands in the text.

    >>> check_verdict("It is hot", ClaimedVerdict("yes", "ice-cold tea"), "hot tea")["verdict"]
    'unclear'
    """
    if claimed.verdict == "unclear":
        return _unclear(criterion, _one_line(claimed.reason) or "The text does not tell.")
    quote = find_quote(claimed.quote, text)
    if quote is None:
        said = f"The model said {claimed.verdict}, but its quote does not stand in the text."
        return _unclear(criterion, said)
    reason = _one_line(claimed.reason) or "The quote shows it."
    return {"criterion": criterion, "verdict": claimed.verdict, "reason": reason, "quote": quote}


def unjudged_verdicts(criteria: Sequence[str], cause: str) -> list[CriterionVerdict]:
    """Return unclear verdicts about criteria by which a page was not judged, with the cause."""
    return [_unclear(criterion, f"It was not judged. {cause}") for criterion in criteria]


def _unclear(criterion: str, reason: str) -> CriterionVerdict:
    return {"criterion": criterion, "verdict": "unclear", "reason": reason, "quote": ""}


def _one_line(reason: str) -> str:
    """Return a model's sentence about a text of the web, harmless on a terminal and in a prompt."""
    return excerpt(neutralize_line(reason), _REASON_CHARS)


def weigh_verdicts(
    verdicts: Sequence[CriterionVerdict],
    *,
    judged: JudgedText,
    unclear: UnclearPages,
    on_page: bool = False,
    failure: str = "",
) -> PageCriteria:
    """Return whether the page is refused: by a "no", by the setting, or since it was not judged.

    A page that is unclear by its search result alone is not refused before its text is judged,
    where that follows (`on_page`); nor is one whose judgement failed. A "no" refuses it at once.
    """
    waits = on_page and judged == "result"
    refusing = {"no"} if waits or unclear == "keep" else {"no", "unclear"}
    against = [one for one in verdicts if one["verdict"] in refusing]
    against.sort(key=lambda one: one["verdict"] != "no")
    reason = _against(against[0]) if against else ""
    if failure and not waits and not is_denied(verdicts):
        reason = f"It was not judged. {failure}"
    return {
        "judged": judged,
        "verdicts": list(verdicts),
        "refused": bool(reason),
        "reason": reason,
        "unclear": unclear,
        "on_page": on_page,
    }


def is_denied(verdicts: Sequence[CriterionVerdict]) -> bool:
    """Return whether a verdict is "no": the page is refused, whatever the others are."""
    return any(one["verdict"] == "no" for one in verdicts)


def named_criteria(told: Mapping[str, Any]) -> list[str]:
    """Return the criteria that the stored verdicts about a page name; none that a run cannot have.

    >>> named_criteria({"verdicts": [{"criterion": "It is hot", "verdict": "yes"}]})
    ['It is hot']
    >>> named_criteria({"verdicts": "yes"})
    []
    """
    verdicts = told.get("verdicts")
    rows = verdicts if isinstance(verdicts, list) else []
    given = [row.get("criterion") for row in rows[:MAX_CRITERIA] if isinstance(row, dict)]
    try:
        return normalize_criteria([one for one in given if isinstance(one, str)])
    except ValueError:
        return []  # written by somebody else: a run has normalized its criteria


def _against(verdict: CriterionVerdict) -> str:
    fails = "It does not meet" if verdict["verdict"] == "no" else "It is unclear whether it meets"
    return f"{fails} {verdict['criterion']!r}: {verdict['reason']}"
