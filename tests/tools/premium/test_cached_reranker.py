"""Who judges the pages of a run, and what is kept of the judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


class ShortReranker:
    """Forgets the last page."""

    reranker_name = "short"

    async def judge(self, _: str, pages: Sequence[JudgedPage]) -> Judgements:
        return Judgements([Judgement(1.0)] * (len(pages) - 1), "short")


async def judge_of(context: SearchContext) -> CachedReranker | None:
    with NULL_SINK.span("k_premium_rank", kind="generation") as span:
        account = Account(context, context.ids())
        return await choose_reranker(context, account=account, span=span, listener=NULL_LISTENER)


async def test_too_few_judgements_are_refused(tmp_path: Path) -> None:
    """Nobody knows which page each of them is about."""
    context = SearchContext(settings=Settings(home=tmp_path))
    with pytest.raises(ModelError, match="short gave 1 judgements for 2 pages"):
        await CachedReranker(ShortReranker()).judge(ASKED, PAGES, Account(context, context.ids()))


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
