"""The model that judges pages against criteria: several pages in one call, answers kept."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...contracts.prices import sum_tokens, total_if_known
from ...errors import CostLimitReached, InputError
from ...planning.criteria_prompts import JUDGE_RULES, criteria_messages
from ...runtime.failure_log import log_failure
from ...runtime.unheard import NULL_LISTENER
from ...text.redaction import error_message
from ...text.untrusted import fence
from ..answers.paid_chat import chat_model, explain_missing_model, paid_chat
from ..spending.account import answer_key
from ..spending.booked_call import usage_of_failure
from .page_batches import PageBatch, TextToJudge, cut_batches
from .verdicts import (
    NO_VERDICT,
    ClaimedVerdict,
    check_verdict,
    parse_verdicts,
    unjudged_verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import SearchContext
    from ...contracts.criteria import CriterionVerdict
    from ...ports import ChatModel, Listener, SpanSink, TraceRef
    from ..spending.account import Account

_AT_ONCE: Final = 4
"""Calls at the same time; under a ceiling one by one, so that each reserves what is left."""
_KIND: Final = "criterion"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PageVerdicts:
    """The verdicts about one page."""

    verdicts: list[CriterionVerdict]
    """In the order of the criteria."""
    failure: str = ""
    """Why criteria were left unjudged; empty where all were judged."""
    is_cached: bool = False
    """Whether all verdicts were known from before."""


@dataclass(frozen=True, slots=True)
class CriteriaJudgement:
    """The verdicts about some pages, in their order, and what they took."""

    pages: list[PageVerdicts]
    model: str | None = None
    calls: int = 0
    """Calls of the model, failed ones included."""
    cost_usd: float | None = 0.0
    """None where a part of it is not known."""
    input_tokens: int | None = 0
    output_tokens: int | None = 0

    @property
    def cached_count(self) -> int:
        """The pages whose verdicts were all known from before."""
        return sum(page.is_cached for page in self.pages)


@dataclass(frozen=True, slots=True)
class _Answered:
    """The end of one call."""

    claimed: dict[tuple[int, int], ClaimedVerdict] = field(default_factory=dict)
    """By place of page and criterion."""
    failure: str = ""
    cost_usd: float | None = 0.0
    tokens: tuple[int | None, int | None] = (0, 0)
    is_made: bool = True


async def require_judge(context: SearchContext) -> ChatModel:
    """Return the model that judges. Raises InputError without one, and ConfigError."""
    if (model := await chat_model(context)) is not None:
        return model
    cause = explain_missing_model(context)
    raise InputError(
        f"The criteria need a model that can chat. {cause}"
        if cause
        else "The criteria need a model that can chat: set COLLECTION_SEARCH_MODEL, for example"
        " openai:gpt-4o-mini, or leave them out."
    )


@dataclass(frozen=True, slots=True)
class Judge:
    """A model with the account that pays for its verdicts."""

    model: ChatModel
    account: Account
    sink: SpanSink
    trace: TraceRef | None
    listener: Listener = NULL_LISTENER
    identity: tuple[str, ...] = ()
    """Names the model in the keys of cached verdicts; empty: none are cached."""

    async def judge(
        self, texts: Sequence[TextToJudge], criteria: Sequence[str]
    ) -> CriteriaJudgement:
        """Return the verdicts about each text.

        What a call that fails or that the ceiling does not allow was to judge is left unjudged, and
        so is what its reply has no verdict about: these verdicts are unclear, and `failure` says
        why. Verdicts that are known stay.
        """
        known = await self._known(texts, criteria)
        batches = list(cut_batches(texts, len(criteria), known))
        at_once = _AT_ONCE if self.account.budget.limit_usd is None else 1
        slots = asyncio.Semaphore(at_once)
        answers = await asyncio.gather(
            *(self._answered(one, texts, criteria, slots) for one in batches)
        )
        causes: dict[int, str] = {}
        claimed: dict[tuple[int, int], ClaimedVerdict] = {}
        for batch, answer in zip(batches, answers, strict=True):
            claimed |= answer.claimed
            causes |= dict.fromkeys(batch.places, answer.failure or NO_VERDICT)
        self._keep(claimed, texts, criteria)
        verdicts = known | {
            (place, n): check_verdict(criteria[n], one, texts[place].shown)
            for (place, n), one in claimed.items()
        }
        pages = [
            _judged(
                [verdicts.get((place, n)) for n in range(len(criteria))],
                criteria,
                cause=causes.get(place, ""),
                is_cached=place not in causes,
            )
            for place in range(len(texts))
        ]
        return CriteriaJudgement(
            pages,
            model=self.model.model_name,
            calls=sum(answer.is_made for answer in answers),
            cost_usd=total_if_known([answer.cost_usd for answer in answers]),
            input_tokens=sum_tokens(answer.tokens[0] for answer in answers),
            output_tokens=sum_tokens(answer.tokens[1] for answer in answers),
        )

    async def _answered(
        self,
        batch: PageBatch,
        texts: Sequence[TextToJudge],
        criteria: Sequence[str],
        slots: asyncio.Semaphore,
    ) -> _Answered:
        fenced = [fence(texts[place].shown) for place in batch.places]
        messages = criteria_messages([criteria[n] for n in batch.criteria], fenced)
        verdicts = len(batch.places) * len(batch.criteria)
        most_tokens = self.account.prices.verdict_tokens(self.model.model_name, verdicts)
        async with slots:
            with self.sink.span("judge_criteria", kind="generation", trace=self.trace) as span:
                span.set({"page_count": len(batch.places), "criteria_count": len(batch.criteria)})
                try:
                    paid = await paid_chat(
                        self.model,
                        messages,
                        account=self.account,
                        span=span,
                        listener=self.listener,
                        most_tokens=most_tokens,
                    )
                except Exception as error:  # noqa: BLE001 - of any kind: the run goes on
                    message = error_message(error)
                    span.fail(type(error).__name__, message)
                    is_made = not isinstance(error, CostLimitReached)
                    if is_made:
                        log_failure(logger, "pages were not judged", error)
                    return self._unanswered(error, message, is_made=is_made)
        reply = paid.reply
        found = parse_verdicts(reply.text, pages=len(batch.places), criteria=len(batch.criteria))
        claimed = {(batch.places[at], batch.criteria[n]): one for (at, n), one in found.items()}
        tokens = (reply.input_tokens, reply.output_tokens)
        return _Answered(claimed, cost_usd=paid.cost_usd, tokens=tokens)

    def _unanswered(self, error: Exception, message: str, *, is_made: bool) -> _Answered:
        """Return the end of a call that failed; a refusal may be paid for all the same."""
        spent = usage_of_failure(error, "chat", self.model.model_name, self.account.prices)
        return _Answered(
            failure=message,
            cost_usd=spent.cost_usd,
            tokens=(spent.input_tokens, spent.output_tokens),
            is_made=is_made,
        )

    async def _known(
        self, texts: Sequence[TextToJudge], criteria: Sequence[str]
    ) -> dict[tuple[int, int], CriterionVerdict]:
        """Return the cached verdicts by place of page and criterion; their quotes are checked."""
        if not self.identity:
            return {}
        keys = {
            (place, n): self._key(text, one)
            for place, text in enumerate(texts)
            for n, one in enumerate(criteria)
        }
        found = await self.account.read_cached_answers(_KIND, list(keys.values()), _read_claimed)
        return {
            (place, n): check_verdict(criteria[n], found[key], texts[place].shown)
            for (place, n), key in keys.items()
            if key in found
        }

    def _keep(
        self,
        claimed: dict[tuple[int, int], ClaimedVerdict],
        texts: Sequence[TextToJudge],
        criteria: Sequence[str],
    ) -> None:
        if self.identity and claimed:
            self.account.cache_answers(
                _KIND,
                lambda: {
                    self._key(texts[place], criteria[n]): [one.verdict, one.quote, one.reason]
                    for (place, n), one in claimed.items()
                },
            )

    def _key(self, text: TextToJudge, criterion: str) -> str:
        return answer_key(*self.identity, JUDGE_RULES, criterion, text.shown)


def unjudged(count: int, criteria: Sequence[str], failure: str) -> CriteriaJudgement:
    """Return the judgement of pages that no model could be asked about."""
    page = _judged([None] * len(criteria), criteria, cause=failure, is_cached=False)
    return CriteriaJudgement([page] * count)


def _judged(
    found: Sequence[CriterionVerdict | None],
    criteria: Sequence[str],
    *,
    cause: str,
    is_cached: bool,
) -> PageVerdicts:
    """Return the verdicts about a page; those that were not found are unclear for the cause."""
    unclear = unjudged_verdicts(criteria, cause)
    verdicts = [one or instead for one, instead in zip(found, unclear, strict=True)]
    return PageVerdicts(verdicts, failure=cause if None in found else "", is_cached=is_cached)


def _read_claimed(given: Any) -> ClaimedVerdict:
    """Return a cached verdict. Raises ValueError for another form."""
    verdict, quote, reason = given
    if verdict not in ("yes", "no", "unclear"):
        raise ValueError("no verdict")
    return ClaimedVerdict(verdict, str(quote), str(reason))
