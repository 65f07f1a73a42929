"""Answers a question from a collection, with citations that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..planning.answer_prompts import answer_messages
from ..ranking.evidence import answering
from ..runtime.concurrency import blocking
from ..settings.adapter_factory import surrounding_listener
from ..text.clean import normalize_query
from .answers.outcomes import failure_reason, unanswered, written_answer
from .answers.paid_chat import chat_model, explain_missing_model, paid_chat
from .answers.passage_lists import fence_passages
from .public_arguments import context_for
from .retrieve import aretrieve
from .spending.run_spendings import open_account

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..contracts.answer import Answer
    from ..contracts.collection import Filters, Passage
    from ..ports import ChatModel, Span
    from .spending.account import Account


async def aanswer(
    question: str,
    *,
    collection: str,
    tenant: str | None = None,
    k: int = 8,
    filters: Filters | None = None,
    context: SearchContext | None = None,
) -> Answer:
    """Return the answer that the context's model writes from at most `k` passages.

    Each sentence has the numbers of the passages that it cites, by `Passage.n`; a sentence that
    cites none is marked. The model gets the passages and no tools. Without a model, or when it
    fails or would exceed the ceiling of the cost, the answer holds the passages and the reason.
    It reads those that `ranking.evidence.answering` picks, and is not asked where there are none;
    the answer's `passages` are all that were found. `answer` blocks, inside a running event loop
    too; `aanswer` is its coroutine.

    Raises what `aretrieve` raises, and ConfigError for a model that cannot be used.
    """
    context = context_for(context, tenant)
    context = context.model_copy(update=dict(context.ids()))  # one run: retrieval and answer
    passages = await aretrieve(
        question, collection=collection, k=k, filters=filters, context=context
    )
    asked = normalize_query(question)
    if not passages:
        return unanswered(asked, passages, "no_passages", cost_usd=0.0)
    if not (fit := answering(passages)):
        return unanswered(asked, passages, "below_level", cost_usd=0.0)
    if (model := await chat_model(context)) is None:
        cause = explain_missing_model(context)
        return unanswered(asked, passages, "no_model", cause=cause, cost_usd=0.0)
    answered = await _asked(model, asked, fit, context)
    return answered.model_copy(update={"passages": passages})


answer = blocking(aanswer, "answer")
"""`aanswer` for code without an event loop."""


async def _asked(
    model: ChatModel, question: str, passages: list[Passage], context: SearchContext
) -> Answer:
    """Return the model's answer, or the reason why it gave none."""
    ids, sink = context.ids(), await context.sink()
    with sink.span("answer", kind="generation", trace=context.trace(ids)) as span:
        account = await open_account(context, ids)
        try:
            account.name_question(question)
            answered = await _written(question, passages, model, account, span)
        except Exception as error:  # noqa: BLE001 - any model's failure; it is in the answer
            reason, cause, spent = failure_reason(error, model, account.prices)
            span.fail(type(error).__name__, cause)
            answered = unanswered(question, passages, reason, cause=cause, cost_usd=spent.cost_usd)
        finally:
            await account.close()
        span.set({"outcome": answered.outcome, "passage_count": len(passages)})
    return answered


async def _written(
    question: str, passages: list[Passage], model: ChatModel, account: Account, span: Span
) -> Answer:
    messages = answer_messages(question, fence_passages(passages))
    paid = await paid_chat(
        model, messages, account=account, span=span, listener=surrounding_listener()
    )
    reply = paid.reply
    return written_answer(
        question,
        reply.text,
        passages,
        cut_off=reply.cut_off,
        model=reply.model,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cost_usd=paid.cost_usd,
    )
