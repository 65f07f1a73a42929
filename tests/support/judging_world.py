"""Ranked results for the judges of premium, and a judge that obeys what it reads outside a fence."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime

from collection_search.nodes.premium_rank import premium_rank
from collection_search.ports import Judgements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collection_search import SearchContext
    from collection_search.ports import ChatMessage, ChatTool, JudgedPage, Judgement

ASKED = "How do I cancel an asyncio task?"
_FENCED = re.compile(
    r'<untrusted-web-content id="(\w+)">\n(.*?)\n</untrusted-web-content id="\1">', re.DOTALL
)
_ORDER = re.compile(r"ORDER: grade (\d)")


def ranked(*scores: float, text: str = "about tea") -> list[dict[str, Any]]:
    """Return results with these scores; `p0` is the best."""
    return [
        {
            "url": f"https://a.example/p{n}",
            "title": f"p{n}",
            "snippet": text,
            "source": "a.example",
            "is_pdf": False,
            "embedding_rank_score": score,
            "embedding_similarity": 0.5,
            "heuristic_score": 50.0,
            "explanation": {"addends": [{"name": "all", "points": score}]},
        }
        for n, score in enumerate(scores)
    ]


async def judge_results(
    context: SearchContext, results: list[dict[str, Any]], **given: Any
) -> dict[str, Any]:
    """Return the update of the stage, for a premium run unless `given` says otherwise."""
    state = {"question": ASKED, "quality_mode": "premium", "results": results, **given}
    update: dict[str, Any] = await premium_rank(state, Runtime(context=context))  # type: ignore[arg-type]
    return update | {"facts": update["telemetry"]["nodes"]["k_premium_rank"]}


class ScriptedReranker:
    """A live `Reranker`: judgements by title, or an error."""

    reranker_name = "scripted-reranker"

    def __init__(
        self, by_title: dict[str, Judgement | None] | Exception, *, cost_usd: float | None = 0.0
    ) -> None:
        self._by_title = by_title
        self._cost_usd = cost_usd
        self.calls: list[list[str]] = []
        """The titles of every call."""

    async def judge(self, question: str, pages: Sequence[JudgedPage]) -> Judgements:
        """Return or raise what is scripted."""
        assert question == ASKED
        self.calls.append([page.title for page in pages])
        if isinstance(self._by_title, Exception):
            raise self._by_title
        made = [self._by_title.get(page.title) for page in pages]
        return Judgements(made, self.reranker_name, cost_usd=self._cost_usd)


def obedient_judge(messages: Sequence[ChatMessage], _: Sequence[ChatTool]) -> str:
    """Return the grades: 3 for a page with `cancel`, else 0; an order outside the fence wins.

    A script for `ScriptedAnswerModel`.
    """
    system, user = messages
    order = _ORDER.search(system.text + _FENCED.sub("", user.text))
    fenced = _FENCED.search(user.text)
    assert fenced is not None
    pages = re.split(r"^\[(\d+)\] ", fenced[2], flags=re.MULTILINE)[1:]
    rows = [
        {
            "n": int(number),
            "grade": int(order[1]) if order else 3 * ("cancel" in text.lower()),
            "reason": "It says how to cancel." if "cancel" in text.lower() else "Another subject.",
        }
        for number, text in zip(pages[::2], pages[1::2], strict=True)
    ]
    return json.dumps(rows)
