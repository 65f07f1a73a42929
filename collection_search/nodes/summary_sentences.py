"""A run in one to three sentences for people, made of its state alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..text.clean import excerpt, to_unicode
from ..text.counted import counted
from ..text.money import round_usd
from ..text.redaction import mask_text
from ..tools.similarity.embedder_outage import outage_behind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contracts.state import Telemetry

_QUOTED_CHARS: Final = 120
_PLAIN: Final = str.maketrans({
    "<": "(", ">": ")", "[": "(", "]": ")", "`": "'", '"': "'", "*": " ", "|": " ", "!": ".",
})  # fmt: skip
"""Texts of strangers must not become tags, links or images where somebody renders Markdown."""


def summarize(state: Mapping[str, Any], telemetry: Telemetry, *, goes_on: bool = False) -> str:
    """Return what was asked, found and ingested, and what it cost; `goes_on`: it has not ended.

    The same state gives the same sentences. Texts of strangers are cut, and plain.
    """
    first = _answered(state) if "asked" in state else _searched(state)
    return " ".join(filter(None, (first, _ingested(state, goes_on=goes_on), _cost(telemetry))))


def plain(text: object) -> str:
    """Return a stranger's text in one short line, without markup and secrets.

    >>> plain("see [this](http://a.example) <img src=x>")
    'see (this)(http://a.example) (img src=x)'
    """
    shown = "".join(one if one.isprintable() else " " for one in to_unicode(str(text)))
    return excerpt(mask_text(shown), _QUOTED_CHARS).translate(_PLAIN)


def _searched(state: Mapping[str, Any]) -> str:
    """Return the sentence about the search, or about the pages that were given."""
    asked = state.get("question") or state.get("query")
    report, pages = state.get("search"), state.get("candidates") or []
    if not report:
        return f"{counted(len(pages), 'page')} of a list or a staged session."
    found = f'"{plain(asked)}" was searched for with {plain(report["provider"])}'
    if state.get("outcome") == "search_failed":
        errors = report["errors"]
        why = f": {plain(errors[0]['rationale'])}" if errors else ""
        return f"{found}, and every query failed{why}."
    number = counted(report["result_count"], "page")
    results = state.get("results")
    if not results:
        return f"{found}: {number} found."
    best = max(one["embedding_rank_score"] for one in results)
    ranked = f"{len(results)} ranked, best score {best:.0f} of 100."
    if not report["result_count"]:  # in a further round, whose pages alone are counted
        return f"{found}: no further page found. Before: {ranked}"
    return f"{found}: {number} found, {ranked}"


def _answered(state: Mapping[str, Any]) -> str:
    """Return the sentence about an answer."""
    answer = state.get("answer") or {}
    found = f'"{plain(state["asked"])}" was asked'
    scope = state.get("collection_scope")
    found += f" of the collection {plain(scope)}" if scope else ""
    found += f": {counted(len(state.get('passages') or []), 'passage')} found"
    if state.get("outcome") != "answered":
        return f"{found}, no written answer ({plain(answer.get('reason') or 'not answered')})."
    cited = {n for one in answer.get("sentences", ()) for n in one["citations"]}
    return f"{found}, {len(cited)} cited in the answer."


def _ingested(state: Mapping[str, Any], *, goes_on: bool) -> str:
    """Return the sentence about what was ingested, or why nothing was."""
    if goes_on and state.get("results"):
        return "What is ingested is not decided yet."
    receipt, outcome = state.get("ingestion"), str(state.get("outcome"))
    if outcome in _NOT_INGESTED:
        return _NOT_INGESTED[outcome]
    if not receipt:
        return ""
    scope = plain(receipt["collection"])
    if receipt["error"]:
        outage = outage_behind(state)
        why = outage.effect if outage else receipt["error"].get("message")
        return f"Nothing was ingested into {scope}: {plain(why)}."
    if not receipt["count"]:
        return f"Nothing was ingested into {scope}{_threshold(receipt)}."
    passed = f"{counted(receipt['count'], 'page')} passed on for ingestion into {scope}"
    return f"{passed}{_threshold(receipt)}{_coverage(state)}."


_NOT_INGESTED: Final = {
    "search_completed": "No ingestion was asked for.",
    "acquired": "The pages are staged, and wait for their ingestion.",
    "review_rejected": "Nothing was approved, so nothing was ingested.",
}


def _threshold(receipt: Mapping[str, Any]) -> str:
    wanted = receipt["threshold"]
    return "" if wanted is None else f" (score {wanted:g} or more)"


def _coverage(state: Mapping[str, Any]) -> str:
    queries = (state.get("coverage") or {}).get("queries")
    if not queries:
        return ""
    answered = sum(bool(one["answered"]) for one in queries)
    return f"; the collection answers {answered} of {counted(len(queries), 'query')}"


def _cost(telemetry: Telemetry) -> str:
    least = "" if telemetry["cost_complete"] else "at least "
    return f"The run cost {least}{round_usd(telemetry['cost_usd'])}."
