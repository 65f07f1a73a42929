"""A chat model as a reranker: all pages in one call, within the run's ceiling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...planning.premium_prompt import premium_messages, read_judgements
from ...ports import Judgements
from ..answers.paid_chat import paid_chat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...ports import ChatModel, JudgedPage, Listener, Span
    from ..spending.account import Account


class ChatReranker:
    """Judges by a chat model, whose calls are paid from a run's account."""

    def __init__(
        self, model: ChatModel, *, account: Account, span: Span, listener: Listener
    ) -> None:
        self.reranker_name = model.model_name
        self._model = model
        self._account = account
        self._span = span
        self._listener = listener

    async def judge(self, question: str, pages: Sequence[JudgedPage]) -> Judgements:
        """Return the model's judgements. Raises ModelError, CostLimitReached."""
        messages = premium_messages(question, pages)
        most = self._account.prices.judgement_tokens(self._model.model_name, len(pages))
        paid = await paid_chat(
            self._model,
            messages,
            account=self._account,
            span=self._span,
            listener=self._listener,
            most_tokens=most,
        )
        reply = paid.reply
        return Judgements(
            read_judgements(reply.text, len(pages)),
            reply.model or self._model.model_name,
            reply.input_tokens,
            reply.output_tokens,
            paid.cost_usd,
        )
