"""What a score is the sum of, and the same in a sentence for people.

The points of the addends are rounded so that they sum to the score: the sum of the first ones is
rounded after each, so that every single one is off by less than 0.01.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .bands import describe_band
from .heuristics import CALIBRATED, Factors
from .preferences import EMBEDDING_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .weighed_page import WeighedPage

_Addend: TypeAlias = "tuple[str, float, float]"
_PARTS: Final = Factors._fields
_AFTERWARDS: Final = frozenset({"blocked_host", "judge"})
"""Addends that say nothing of how the question's words and the model see the page."""
_LISTED: Final = 3
"""Words of the question that the sentence names."""
_WORD_CHARS: Final = 24
_RARE: Final = 3
"""Rarity from which a word is called rare."""
_CLOSE: Final = 2 / 3
_FAIRLY_CLOSE: Final = 1 / 3
_MEASURED: Final = {
    "lexical": "words compared, no model",
    "dense": "meaning compared by a model, and words",
    "literal": "0.6 * cosine * 100 + 0.4 * heuristics, not calibrated",
}
_WITHOUT_SCALE: Final = "words compared, since the scale of the model is not known"
_FAILED: Final = "the page could not be embedded: similarity counts 0"
_OWN_RULES: Final = "own weights or rules count, for which no share of relevant pages was measured"


def explain_score(page: WeighedPage) -> dict[str, Any]:
    """Return the explanation of a score, JSON-plain.

    `addends` are all that the score is the sum of: `points` = `value` * `weight`. The one of the
    similarity has the `inputs` of its value, the embedding score: `value = 100 / (1 + exp(-x))`,
    where `x` sums value * weight of the inputs; in the profile `literal` `value = x`. A page that
    could not be embedded has none. `not_counted` names the parts that are shown but count nothing.
    `refused` is there where the page may not be ingested without a person's decision.
    """
    parts, basis = page.parts, page.basis
    scale = basis.calibration.scale if basis.calibration else "literal"
    addends, missing = _addends(page), _missing(page)
    told: dict[str, Any] = {
        "sentence": _sentence(page, addends, missing),
        "scale": scale,
        "meaning": _meaning(page, scale),
        "model": basis.model,
    }
    if basis.calibration and scale == "dense" and not page.is_failed:
        told |= {"unrelated": basis.calibration.unrelated, "related": basis.calibration.related}
    told |= {
        "embedding_score": round(page.embedding, 2),
        "addends": _listed_addends(page, addends),
        "title": round(parts.title, 2),
        "snippet": parts.snippet,
        "coverage": round(parts.coverage, 2),
        "url": parts.url,
        "not_counted": [
            name for name, weight in zip(_PARTS, basis.weights[1:], strict=True) if not weight
        ],
        "matched": list(parts.matched),
        "missing": missing,
    }
    return told | ({"refused": page.preference.refused} if page.is_refused else {})


def _listed_addends(page: WeighedPage, addends: Sequence[_Addend]) -> list[dict[str, Any]]:
    """Return what the score is the sum of: its points sum to the score, to the last decimal."""
    exact = list(addends)
    whole = math.fsum([value * weight for _, value, weight in exact])
    clipped = min(max(whole, 0.0), 100.0)
    if clipped != whole:
        exact.append(("limit", clipped - whole, 1.0))
    if page.is_refused:
        exact.append(("blocked_host", -clipped, 1.0))
    points = sum_to(page.score, [value * weight for _, value, weight in exact])
    listed: list[dict[str, Any]] = [
        {"name": name, "value": round(value, 2), "weight": round(weight, 4), "points": each}
        for (name, value, weight), each in zip(exact, points, strict=True)
        if each or name not in {"limit", "blocked_host"}
    ]
    listed[0]["inputs"] = _inputs(page)
    return listed


def score_by_relevance(result: Mapping[str, Any]) -> float:
    """Return the score of a result before a host was blocked or a judge changed it.

    >>> blocked = {"name": "blocked_host", "points": -71.5}
    >>> score_by_relevance({"embedding_rank_score": 0.0, "explanation": {"addends": [blocked]}})
    71.5
    """
    later = [
        each["points"]
        for each in result["explanation"].get("addends", ())
        if each["name"] in _AFTERWARDS
    ]
    return float(result["embedding_rank_score"] - math.fsum(later))


def sum_to(whole: float, parts: Sequence[float]) -> list[float]:
    """Return the parts with two decimals each, so that they sum to the whole, which has two.

    The parts sum to about the whole. What is 0 stays 0.

    >>> sum_to(1.0, [1 / 3, 1 / 3, 0.0, 1 / 3])
    [0.33, 0.34, 0.0, 0.33]
    """
    last = max([place for place, part in enumerate(parts) if part], default=-1)
    found, reached, before = [], 0.0, 0
    for place, part in enumerate(parts):
        reached += part
        edge = round(100 * (whole if place >= last else reached))
        found.append((edge - before) / 100)
        before = edge
    return found


def _addends(page: WeighedPage) -> list[_Addend]:
    """Return name, value and weight of all that counts."""
    parts, basis = page.parts, page.basis
    weights = basis.weights
    found: list[_Addend] = [("similarity", page.embedding, weights.similarity)]
    if weights.title:
        if parts.untitled:
            found.append(("text_in_place_of_title", parts.untitled, weights.title))
        else:
            found.append(("title", parts.title, weights.title))
    if weights.snippet:
        found.append(("snippet", parts.snippet, weights.snippet))
    if weights.coverage:
        found.append(("coverage", parts.coverage, weights.coverage))
    if weights.url:
        costs = parts.url and max(parts.url, -parts.earned(basis.factors) / basis.factors.url)
        found.append(("url", costs, weights.url))
    found += [(each.name, each.points, 1.0) for each in page.preference.adjustments]
    return found


def _inputs(page: WeighedPage) -> list[dict[str, Any]]:
    """Return the terms of the embedding score."""
    scale = page.basis.calibration
    if page.is_failed:
        return []
    if scale is None:
        return [{"name": "cosine", "value": page.similarity, "weight": 100.0}]
    placed, alike = scale.inputs(page.similarity, page.wording)
    terms = (("model", placed, scale.similarity), ("wording", alike, scale.wording))
    return [
        *(
            {"name": name, "value": value, "weight": weight}
            for name, value, weight in terms
            if weight
        ),
        {"name": "constant", "value": 1.0, "weight": scale.constant},
    ]


def _meaning(page: WeighedPage, scale: str) -> str:
    basis = page.basis
    if page.is_failed:
        return _FAILED
    said = _MEASURED[scale]
    if scale == "lexical" and basis.model is not None:
        reason = basis.calibration.reason if basis.calibration else ""
        said = f"words compared, since {reason}" if reason else _WITHOUT_SCALE
    if scale == "literal":
        return said
    is_own = page.preference.adjustments or page.is_refused
    if is_own or (basis.share, basis.factors) != (EMBEDDING_SHARE, CALIBRATED):
        return f"{said}; {_OWN_RULES}"
    return f"{said}; {describe_band(scale, page.score)}"


def _sentence(page: WeighedPage, addends: Sequence[_Addend], missing: Sequence[str]) -> str:
    """Return in one sentence why the page has its score; no text of the page is in it."""
    said = [_words(page, missing), _closeness(page)]
    for name, value, weight in addends:
        if name == "url" and value * weight:
            said.append(f"its address costs {_points(-value * weight)}")
    for each in page.preference.adjustments:
        side = "gives" if each.points > 0 else "costs"
        said.append(f"{each.reason}, which {side} {_points(abs(each.points))}")
    if page.is_refused:
        said.append(
            f"{page.preference.refused}, so it has no points and is not ingested automatically"
        )
    return "; ".join(said) + "."


def _words(page: WeighedPage, missing: Sequence[str]) -> str:
    parts, asked = page.parts, len(page.basis.terms)
    found = len(parts.matched)
    if not asked:
        return "The question has no words to look for"
    which = f"question's {asked} words" if asked > 1 else "question's only word"
    if found in {0, asked}:
        much = "all the" if found > 1 else "the" if found else "none of the"
        said = f"It has {much} {which}" if found or asked > 1 else f"It lacks the {which}"
    else:
        said = f"It has {found} of the {which}"
    if parts.untitled:
        said += " and no title"
    elif found:
        titled = {0: "none", found: "all"}.get(parts.titled, str(parts.titled))
        said += f", {titled} in the title" if found > 1 else ", in the title" * parts.titled
    return said + _named(page, missing)


def _named(page: WeighedPage, missing: Sequence[str]) -> str:
    """Return the words that count most, and those that are missing."""
    parts, basis = page.parts, page.basis
    rare = [
        term.word for term in basis.terms if term.rarity >= _RARE and term.word in parts.matched
    ]
    named = []
    if basis.calibration and 0 < len(rare) < len(parts.matched):
        named.append(f"rare: {_listed(rare)}")
    if missing:
        named.append(f"missing: {_listed(missing)}")
    return f" ({'; '.join(named)})" if named else ""


def _missing(page: WeighedPage) -> list[str]:
    matched = page.parts.matched
    return [term.word for term in page.basis.terms if term.word not in matched]


def _listed(words: Sequence[str]) -> str:
    shown = [word[:_WORD_CHARS] for word in words[:_LISTED]]
    return ", ".join(shown) + (" ..." if len(words) > _LISTED else "")


def _closeness(page: WeighedPage) -> str:
    basis = page.basis
    if page.is_failed:
        return "it could not be embedded, so its similarity counts 0"
    if basis.calibration is None:
        return f"its similarity is {page.similarity:.2f}"
    by = "by wording" if basis.calibration.scale == "lexical" else "by meaning and wording"
    close = (page.embedding - basis.least) / (100 - basis.least)
    how = "close" if close >= _CLOSE else "fairly close" if close >= _FAIRLY_CLOSE else "not close"
    return f"{by} it is {how}"


def _points(points: float) -> str:
    shown = f"{points:.1f}".removesuffix(".0")
    return f"{shown} point{'' if shown == '1' else 's'}"
