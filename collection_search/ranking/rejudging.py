"""Changes a score by a judgement of the page, so that it still orders and gates.

`new score = 0.25 * score + 0.75 * 100 * relevance`. It rises with both and stays within 0-100.
From a score of 40 on, a relevance of 2/3 or more passes 60; a relevance of 1/3 or less stays at 50
or below whatever the score was, and below 50 for any score below 100.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..text.clean import excerpt
from ..text.untrusted import neutralize_line

if TYPE_CHECKING:
    from collections.abc import Mapping

JUDGE_SHARE: Final = 0.75
"""Weight of the judgement in the new score."""
_REASON_CHARS: Final = 120
"""Characters of a reason that the sentence has."""
_NAME_CHARS: Final = 80
_NOT_MEASURED: Final = "no share of relevant pages was measured for such scores"


def rejudge(score: float, relevance: float) -> float:
    """Return the new score, 0-100, of a page with this score and this relevance of 0-1.

    >>> rejudge(45.0, 2 / 3), rejudge(80.0, 1 / 3), rejudge(60.0, 1.0), rejudge(60.0, 0.0)
    (61.25, 45.0, 90.0, 15.0)
    """
    return round((1 - JUDGE_SHARE) * score + JUDGE_SHARE * 100 * relevance, 2)


def explain_judgement(
    explanation: Mapping[str, Any], points: float, *, relevance: float, reason: Any, model: str
) -> dict[str, Any]:
    """Return the explanation with the addend `judge`, which changes the score by `points`.

    `meaning` and `sentence` say it too, with the reason in one short line.

    >>> told = explain_judgement({"sentence": "It has all the question's 3 words."}, -12.504,
    ...                          relevance=0.0, reason="Another subject.", model="m")
    >>> told["addends"][0]["points"], told["sentence"]
    (-12.5, "It has all the question's 3 words; the judge m took 12.5 points: Another subject.")
    >>> told["meaning"]
    'judged by m; no share of relevant pages was measured for such scores'
    """
    change = round(points, 2)
    addend = {"name": "judge", "points": change}
    addend |= {"relevance": round(relevance, 3), "reason": reason, "model": model}
    name = _shown_line(model, _NAME_CHARS)
    before = str(explanation.get("sentence") or "").removesuffix(".")
    said = _describe_judgement(name, change, _shown_line(reason, _REASON_CHARS))
    return {
        **explanation,
        "sentence": f"{before}; {said}" if before else said,
        "meaning": f"judged by {name}; {_NOT_MEASURED}",
        "addends": [*explanation.get("addends", ()), addend],
    }


def _describe_judgement(name: str, change: float, reason: str) -> str:
    much = f"{abs(change):g} point{'' if abs(change) == 1 else 's'}"
    done = f"gave {much}" if change > 0 else f"took {much}" if change else "changed nothing"
    said = f"the judge {name} {done}" + (f": {reason}" if reason else "")
    return said if said.endswith((".", "!", "?", "…")) else f"{said}."


def _shown_line(text: Any, most: int) -> str:
    """Return a text that comes from outside as one short line; blank for what is no text."""
    if not isinstance(text, str):
        return ""
    return excerpt(neutralize_line(text[: 4 * most]), most)


def judged_addend(explanation: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the addend of a judgement, None for a page that was not judged."""
    addends = explanation.get("addends", ())
    return next((dict(one) for one in addends if one.get("name") == "judge"), None)
