"""A model's call in the ceiling and the books of its run: the one place where it is booked."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ...contracts.collection import model_of
from ...errors import CostLimitReached, ModelError
from ...runtime.cancellation import failure_of
from ...runtime.spans import NULL_SPAN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...contracts.price_list import PriceList
    from ...ports import Span
    from .account import Account

    ModelKind: TypeAlias = Literal["chat", "embedding"]


@dataclass(frozen=True, slots=True)
class CallUsage:
    """The tokens and the cost of a model's call, each None where it is not known."""

    name: str
    """The model that answered, or that was asked; of an embedder its fingerprint."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class BookedCall:
    """A call under way; what it takes is not known until `answered`, or until it fails."""

    def __init__(self, prices: PriceList, kind: ModelKind, name: str) -> None:
        self._prices = prices
        self._kind: ModelKind = kind
        self._name = name
        self._usage: CallUsage | None = None

    @property
    def usage(self) -> CallUsage:
        """What the call took, as far as it is known by now."""
        return self._usage or _priced(self._prices, self._kind, self._name, None, None)

    def answered(
        self, input_tokens: int | None, output_tokens: int | None = None, *, name: str = ""
    ) -> CallUsage:
        """Keep and return what the answer took; `name` is the model that says it answered."""
        given, asked = name or self._name, self._name
        self._usage = _priced(
            self._prices, self._kind, given, input_tokens, output_tokens, asked=asked
        )
        return self._usage

    def failed(self, error: Exception) -> None:
        """Keep what the failed call took; an answer that came before stays as it is."""
        if self._usage is None:
            self._usage = usage_of_failure(error, self._kind, self._name, self._prices)


@contextmanager
def booked_call(
    account: Account,
    kind: ModelKind,
    name: str,
    *,
    reserved_usd: float | None,
    span: Span = NULL_SPAN,
) -> Iterator[BookedCall]:
    """Yield a call within the ceiling of an account; its end is in account and span, however it is.

    `reserved_usd` is the most that it may cost, None for a price that is not known. Raises
    CostLimitReached where the run may not pay for it, and what is raised within; a CancelledError
    that nobody asked for is raised as a failure.
    """
    account.budget.reserve(reserved_usd, kind, name)
    call = BookedCall(account.prices, kind, name)
    try:
        yield call
    except BaseException as error:
        failure = failure_of(error)
        call.failed(failure)
        if failure is error:
            raise
        raise failure from error
    finally:
        book_usage(call.usage, kind, account, reserved_usd=reserved_usd, span=span)


def book_usage(
    usage: CallUsage,
    kind: ModelKind,
    account: Account,
    *,
    reserved_usd: float | None,
    span: Span = NULL_SPAN,
) -> None:
    """Record a call's usage in account and span, and replace the reserved amount by its cost."""
    given, made, cost = usage.input_tokens, usage.output_tokens, usage.cost_usd
    account.budget.settle(reserved_usd, cost)
    model = model_of(usage.name) if kind == "embedding" else usage.name
    span.usage(model=model, input_tokens=given, output_tokens=made, cost_usd=cost)
    account.record_cost(kind, usage.name, cost, input_tokens=given, output_tokens=made)


def usage_of_failure(error: Exception, kind: ModelKind, name: str, prices: PriceList) -> CallUsage:
    """Return what a failed call took: nothing where it was not made or not answered.

    An answer that cannot be used, such as a refusal, is paid for: a ModelError has its tokens where
    they are known.
    """
    if isinstance(error, CostLimitReached) or not getattr(error, "may_be_billed", True):
        return CallUsage(name, 0, 0, 0.0)
    if isinstance(error, ModelError):
        return _priced(prices, kind, name, error.input_tokens, error.output_tokens)
    return _priced(prices, kind, name, None, None)


def _priced(
    prices: PriceList,
    kind: ModelKind,
    name: str,
    input_tokens: int | None,
    output_tokens: int | None,
    *,
    asked: str = "",
) -> CallUsage:
    if kind == "embedding":
        return CallUsage(name, input_tokens, None, prices.embedding_cost(name, input_tokens))
    cost = prices.chat_cost(name, input_tokens, output_tokens, asked=asked)
    return CallUsage(name, input_tokens, output_tokens, cost)
