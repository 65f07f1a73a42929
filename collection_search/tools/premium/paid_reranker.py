"""A reranker whose calls are in the ceiling and the books of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...contracts.prices import parse_usd
from ...text.validation import whole_number
from ..spending.booked_call import CallUsage, book_usage, usage_of_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...ports import JudgedPage, Judgements, Reranker, Span
    from ..spending.account import Account


class PaidReranker:
    """A reranker that says what a call took; its price is not known before the call."""

    def __init__(self, reranker: Reranker, *, account: Account, span: Span, is_named: bool) -> None:
        """`is_named`: it was made by its name, so that a call without an answer costs nothing."""
        self.reranker_name = reranker.reranker_name
        self._reranker = reranker
        self._account = account
        self._span = span
        self._is_named = is_named

    async def judge(self, question: str, pages: Sequence[JudgedPage]) -> Judgements:
        """Return or raise what the reranker does, with its cost in account and span."""
        name = self.reranker_name
        usage = CallUsage(name, 0, 0, 0.0) if self._is_named else CallUsage(name)
        try:
            made = await self._reranker.judge(question, pages)
            made = replace(made, cost_usd=parse_usd(made.cost_usd))
            given = whole_number(made.input_tokens, least=0)
            told = whole_number(made.output_tokens, least=0)
            usage = CallUsage(made.model or name, given, told, made.cost_usd)
        except Exception as error:
            usage = usage_of_failure(error, "chat", name, self._account.prices)
            raise
        finally:
            self._book(usage)
        return made

    def _book(self, usage: CallUsage) -> None:
        """Book what is not free: a local cross-encoder is in no books."""
        if usage.cost_usd == 0:
            return
        if usage.cost_usd is None:
            self._account.budget.has_unknown = True
        book_usage(usage, "chat", self._account, reserved_usd=None, span=self._span)
