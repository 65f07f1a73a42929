"""Who judges the pages of a run, and what is kept of the judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.judging_world import ASKED, ScriptedReranker, obedient_judge

from collection_search import SearchContext, Settings
from collection_search.errors import ModelError
from collection_search.ports import JudgedPage, Judgement, Judgements
from collection_search.runtime.spans import NULL_SINK
from collection_search.runtime.unheard import NULL_LISTENER
from collection_search.testing import ScriptedAnswerModel
from collection_search.tools.premium.cached_reranker import CachedReranker, choose_reranker
from collection_search.tools.spending.account import Account

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAGES = [JudgedPage("one", "cancel", "https://a.example/1"), JudgedPage("two", "x", "u")]


class Giving:
    """Returns what it is given."""

    reranker_name = "mine"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def judge(self, question: str, pages: Sequence[JudgedPage]) -> Any:
        return self.answer


async def judge_of(context: SearchContext) -> CachedReranker | None:
    with NULL_SINK.span("k_premium_rank", kind="generation") as span:
        account = Account(context, context.ids())
        return await choose_reranker(context, account=account, span=span, listener=NULL_LISTENER)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Judgements([Judgement(1.0)], "m"), "1 judgements for 2 pages"),
        (None, "NoneType in place of Judgements"),
        ([0.5, 0.5], "list in place of Judgements"),
        (Judgements(None, "m"), "Judgements whose `pages` are NoneType"),  # type: ignore[arg-type]
        (Judgements("no", "m"), "Judgements whose `pages` are str"),  # type: ignore[arg-type]
        (Judgements([None, None], "m", cost_usd=-1), "the cost -1 in place of dollars"),
        (Judgements([None, None], "m", cost_usd="1"), "the cost '1' in place of"),  # type: ignore[arg-type]
    ],
)
async def test_what_judges_not_each_page_is_refused(tmp_path: Path, answer: Any, told: str) -> None:
    """With the reranker's name and what is wanted: nobody knows what is judged."""
    context = SearchContext(settings=Settings(home=tmp_path), reranker=Giving(answer))
    judge = await judge_of(context)
    assert judge is not None
    with pytest.raises(ModelError, match=f"^The reranker mine gave {told}.*one Judgement or None"):
        await judge.judge(ASKED, PAGES, Account(context, context.ids()))


async def test_a_page_without_a_judgement_is_left_out(tmp_path: Path) -> None:
    """A number alone is none, neither is one beyond 1."""
    context = SearchContext(settings=Settings(home=tmp_path))
    odd: list[Any] = [0.5, Judgement(2.0)]
    judge = CachedReranker(Giving(Judgements(odd, "m")))
    made, _ = await judge.judge(ASKED, PAGES, Account(context, context.ids()))
    assert made.pages == [None, None]


async def test_judgements_of_a_live_object_are_not_kept(tmp_path: Path) -> None:
    """It has no identity: another one may have the same name."""
    judge = ScriptedReranker({"one": Judgement(1.0), "two": Judgement(0.0)})
    context = SearchContext(settings=Settings(home=tmp_path), reranker=judge)
    chosen = await judge_of(context)
    assert chosen is not None
    assert chosen.identity == ()
    for _ in range(2):
        account = Account(context, context.ids())
        made, kept = await chosen.judge(ASKED, PAGES, account)
        await account.close()
        assert ([one and one.relevance for one in made.pages], kept) == ([1.0, 0.0], 0)
    assert len(judge.calls) == 2


async def test_the_live_model_judges_by_default(tmp_path: Path) -> None:
    """All pages in one call, without tools."""
    model = ScriptedAnswerModel(obedient_judge)
    context = SearchContext(settings=Settings(home=tmp_path), model=model)
    chosen = await judge_of(context)
    assert chosen is not None
    made, _ = await chosen.judge(ASKED, PAGES, Account(context, context.ids()))
    assert [one and one.relevance for one in made.pages] == [1.0, 0.0]
    assert (len(model.chats), model.tools) == (1, [[]])


async def test_without_a_model_nobody_judges(tmp_path: Path) -> None:
    """Neither where nobody is wanted."""
    settings = Settings(home=tmp_path)
    assert await judge_of(SearchContext(settings=settings)) is None
    model = ScriptedAnswerModel("[]")
    assert await judge_of(SearchContext(settings=settings, model=model, reranker="none")) is None
