"""An embedder whose calls an account pays for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...contracts.prices import sum_tokens, tokens_in, total_if_known
from ...runtime.spans import NULL_SPAN
from .booked_call import booked_call
from .embedder_call import ask_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.collection import Embedded
    from ...ports import Embedder, Span
    from .account import Account
    from .booked_call import CallUsage


class PaidEmbedder:
    """An embedder within the ceiling of an account, which gets the cost of every call.

    Whoever has the account closes it; what is recorded later is written by itself.
    """

    def __init__(self, embedder: Embedder, account: Account, span: Span = NULL_SPAN) -> None:
        self.fingerprint = embedder.fingerprint
        self._embedder = embedder
        self._account = account
        self._span = span
        self._calls: list[CallUsage] = []

    @property
    def input_tokens(self) -> int | None:
        """Tokens of all calls, None where those of one are not known."""
        return sum_tokens(call.input_tokens for call in self._calls)

    @property
    def cost_usd(self) -> float | None:
        """Cost of all calls, None where that of one is not known."""
        return total_if_known(call.cost_usd for call in self._calls)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return or raise what `ask_embedder` does, and record its cost in account and span.

        The cost of a failed call is what the error says, else not known. Raises CostLimitReached
        where the account's run may not pay for it: nobody is asked then.
        """
        name, account = self.fingerprint, self._account
        price = account.prices.embedding_cost(name, tokens_in(texts))
        with booked_call(account, "embedding", name, reserved_usd=price, span=self._span) as call:
            try:
                answer = await ask_embedder(self._embedder, texts)
                call.answered(answer.input_tokens)
            except Exception as error:
                call.failed(error)
                raise
            finally:
                self._calls.append(call.usage)
        return answer
