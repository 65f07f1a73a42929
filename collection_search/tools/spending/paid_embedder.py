"""An embedder whose calls an account pays for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...contracts.collection import model_of
from ...contracts.prices import tokens_in, total_if_known
from ...errors import ModelError
from ...runtime.spans import NULL_SPAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.collection import Embedded
    from ...ports import Embedder, Span
    from .account import Account


class PaidEmbedder:
    """An embedder within the ceiling of an account, which gets the cost of every call.

    Whoever has the account closes it; what is recorded later is written by itself.
    """

    def __init__(self, embedder: Embedder, account: Account, span: Span = NULL_SPAN) -> None:
        self.fingerprint = embedder.fingerprint
        self._embedder = embedder
        self._account = account
        self._span = span
        self._tokens: list[int | None] = []
        self._costs: list[float | None] = []

    @property
    def input_tokens(self) -> int | None:
        """Tokens of all calls, None where those of one are not known."""
        return None if None in self._tokens else sum(filter(None, self._tokens))

    @property
    def cost_usd(self) -> float | None:
        """Cost of all calls, None where that of one is not known."""
        return total_if_known(self._costs)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return or raise the embedder's result, and record its cost in account and span.

        The cost of a failed call is not known, unless the error says that it is not billed. Raises
        CostLimitReached where the account's run may not pay for it: nobody is asked then.
        """
        name, account = self.fingerprint, self._account
        price = account.prices.embedding_cost(name, tokens_in(texts))
        account.budget.reserve(price, "embedding", name)
        tokens: int | None = None
        cost: float | None = None
        try:
            answer = await self._embedder.embed(texts)
        except ModelError as error:
            if not error.may_be_billed:
                tokens, cost = 0, 0.0
            raise
        else:
            tokens = answer.input_tokens
            cost = account.prices.embedding_cost(name, tokens)
            return answer
        finally:
            self._tokens.append(tokens)
            self._costs.append(cost)
            account.budget.settle(price, cost)
            model = model_of(name)
            self._span.usage(model=model, input_tokens=tokens, output_tokens=None, cost_usd=cost)
            account.record_cost("embedding", name, cost, input_tokens=tokens)
