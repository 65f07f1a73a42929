"""A reranker whose calls are in the ceiling and the books of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...contracts.prices import parse_usd
from ...errors import ModelError
from ...ports import Judgements
from ...text.validation import whole_number
from ..spending.booked_call import CallUsage, book_usage, usage_of_failure

if TYPE_CHECKING:
    from ...ports import JudgedPage, Reranker, Span
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
        """Return or raise what the reranker does, with its cost in account and span.

        Raises ModelError for what is no judgement of each page.
        """
        name = self.reranker_name
        usage = CallUsage(name, 0, 0, 0.0) if self._is_named else CallUsage(name)
        try:
            answer: object = await self._reranker.judge(question, pages)
        except Exception as error:
            usage = usage_of_failure(error, "chat", name, self._account.prices)
            raise
        else:
            if isinstance(answer, Judgements):
                usage = _usage_of(answer, name)
            return _read_judgements(answer, len(pages), name)
        finally:
            self._book(usage)

    def _book(self, usage: CallUsage) -> None:
        """Book what is not free: a local cross-encoder is in no books."""
        if usage.cost_usd == 0:
            return
        if usage.cost_usd is None:
            self._account.budget.has_unknown = True
        book_usage(usage, "chat", self._account, reserved_usd=None, span=self._span)


def _usage_of(made: Judgements, name: str) -> CallUsage:
    """Return what the call took, also one whose judgements are refused."""
    given = whole_number(made.input_tokens, least=0)
    told = whole_number(made.output_tokens, least=0)
    return CallUsage(made.model or name, given, told, parse_usd(made.cost_usd))


def _read_judgements(given: object, count: int, name: str) -> Judgements:
    """Return what a reranker gave for so many pages. Raises ModelError for anything else."""
    pages: object = given.pages if isinstance(given, Judgements) else None
    if not isinstance(given, Judgements):
        wrong = f"{type(given).__name__} in place of Judgements"
    elif isinstance(pages, str) or not isinstance(pages, Sequence):
        wrong = f"Judgements whose `pages` are {type(pages).__name__}"
    elif len(pages) != count:
        wrong = f"{len(pages)} judgements for {count} pages"
    elif given.cost_usd is not None and parse_usd(given.cost_usd) is None:
        wrong = f"the cost {given.cost_usd!r} in place of dollars"
    else:
        return given
    raise ModelError(
        f"The reranker {name} gave {wrong}. It has to return Judgements with `pages`: one Judgement"
        " or None for each page. Mend it or choose another one."
    )
