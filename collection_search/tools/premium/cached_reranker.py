"""Who judges pages, and the judgements that are kept: what was paid for is not paid again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from ...errors import InputError
from ...planning.premium_prompt import premium_messages
from ...ports import Judgement, Judgements
from ...text.validation import number_within
from ..answers.paid_chat import chat_model
from ..spending.account import answer_key
from ..spending.plan_cache import named_model
from .chat_reranker import ChatReranker
from .paid_reranker import PaidReranker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import SearchContext
    from ...ports import JudgedPage, Listener, Reranker, Span
    from ..spending.account import Account

_KIND: Final = "judgement"


@dataclass(frozen=True, slots=True)
class CachedReranker:
    """A reranker, with what tells its judgements from those of others."""

    reranker: Reranker
    identity: tuple[str, ...] = ()
    """Empty for a live model, which has no identity: its judgements are not kept."""

    async def judge(
        self, question: str, pages: Sequence[JudgedPage], account: Account
    ) -> tuple[Judgements, int]:
        """Return the judgements, and how many of them were kept from before.

        The others are judged in one call; none is made where all are kept. Raises what the
        reranker raises.
        """
        keys = [self._key(question, page) for page in pages]
        asked = [key for key in keys if key]
        kept = await account.read_cached_answers(_KIND, asked, _read_judgement)
        new = [place for place, key in enumerate(keys) if key not in kept]
        if not new:
            account.record_saved("chat", self.reranker.reranker_name)
            known = [kept[key] for key in keys]
            return Judgements(known, self.reranker.reranker_name, 0, 0), len(known)
        made = await self.reranker.judge(question, [pages[place] for place in new])
        fresh = {place: one for place, one in zip(new, made.pages, strict=True) if _is_valid(one)}
        told = {keys[place]: _plain(one) for place, one in fresh.items() if keys[place]}
        if told:
            account.cache_answers(_KIND, lambda: told)
        judged = [kept.get(key) or fresh.get(place) for place, key in enumerate(keys)]
        facts = made.model, made.input_tokens, made.output_tokens, made.cost_usd
        return Judgements(judged, *facts), len(pages) - len(new)

    def _key(self, question: str, page: JudgedPage) -> str:
        """Return the cache key of a judgement; blank where it is not kept."""
        if not self.identity:
            return ""
        rules = premium_messages(question, [])[0].text
        return answer_key(*self.identity, rules, question, page.title, page.url, page.text)


async def choose_reranker(
    context: SearchContext, *, account: Account, span: Span, listener: Listener
) -> CachedReranker | None:
    """Return who judges pages in this run; None where nobody does. Raises ConfigError."""
    choice = context.reranker_choice()
    if (reranker := await context.named_reranker()) is not None:
        is_named = isinstance(choice, str)
        paid = PaidReranker(reranker, account=account, span=span, is_named=is_named)
        return CachedReranker(paid, (reranker.reranker_name,) if is_named else ())
    if choice != "model" or (model := await chat_model(context)) is None:
        return None
    judge = ChatReranker(model, account=account, span=span, listener=listener)
    return CachedReranker(judge, named_model(context) or ())


def _is_valid(judgement: object) -> TypeGuard[Judgement]:
    relevance = judgement.relevance if isinstance(judgement, Judgement) else None
    return number_within(relevance, 0, 1) is not None


def _plain(judgement: Judgement) -> dict[str, Any]:
    return {"relevance": judgement.relevance, "reason": judgement.reason}


def _read_judgement(given: Any) -> Judgement:
    """Return the judgement that `_plain` encoded. Raises InputError for another form."""
    relevance = number_within(given.get("relevance"), 0, 1) if isinstance(given, dict) else None
    if relevance is None:
        raise InputError("The kept judgement has no relevance from 0 to 1.")
    return Judgement(relevance, given.get("reason"))
