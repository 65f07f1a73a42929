"""Each model's call is booked once, however it ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from collection_search import CostLimitReached, SearchContext, Settings
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.errors import ModelError
from collection_search.tools.spending.account import Account
from collection_search.tools.spending.booked_call import booked_call, usage_of_failure
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.ports.usage import SpendTotal

CHAT, EMBEDDER = "gpt-4o-mini", "openai:text-embedding-3-small"


@pytest.fixture
def account(tmp_path: Path) -> Account:
    context = SearchContext(settings=Settings(home=tmp_path, max_cost_usd=1.0), run_id="run-1")
    return Account(context, context.ids())


async def total(account: Account, tmp_path: Path) -> SpendTotal:
    def read() -> SpendTotal:
        spend_writer().flush()
        return SQLiteUsage(tmp_path / "usage.db").run_total("local", "run-1")

    await account.close()
    return await asyncio.to_thread(read)


def call(
    account: Account,
    error: BaseException | None,
    kind: Any = "chat",
    then: BaseException | None = None,
) -> None:
    """Make a call that fails before or after its answer."""
    name = CHAT if kind == "chat" else EMBEDDER
    with booked_call(account, kind, name, reserved_usd=0.5) as booked:
        if error is not None:
            raise error
        booked.answered(29, 44)
        if then is not None:
            raise then


@pytest.mark.parametrize(
    ("kind", "tokens"), [("chat", (29, 5)), ("embedding", (29, 0)), ("chat", (0, 0))]
)
async def test_a_failure_that_was_paid_for_has_its_tokens(
    account: Account, tmp_path: Path, kind: Any, tokens: tuple[int, int]
) -> None:
    """In the books, and in place of what was reserved."""
    error = ModelError("refused", input_tokens=tokens[0], output_tokens=tokens[1])
    with pytest.raises(ModelError, match="refused"):
        call(account, error, kind)
    found = await total(account, tmp_path)
    assert (found.input_tokens, found.output_tokens, found.unpriced) == (*tokens, 0)
    assert float(found.cost_usd) == account.budget.spent_usd < 0.1
    assert bool(found.requests) is any(tokens)


@pytest.mark.parametrize("error", [RuntimeError("?"), ModelError("?"), KeyboardInterrupt()])
async def test_what_nobody_knows_stays_reserved(
    account: Account, tmp_path: Path, error: BaseException
) -> None:
    """The call is in the books, without a price."""
    with pytest.raises(type(error)):
        call(account, error)
    found = await total(account, tmp_path)
    assert (found.requests, found.unpriced, account.budget.spent_usd) == (1, 1, 0.5)


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_cancellation_that_nobody_asked_for_is_a_failure(
    account: Account, tmp_path: Path, *, is_cancelled: bool
) -> None:
    """A real one stays what it is; both are in the books."""

    async def cancelled_call() -> None:
        if is_cancelled and (task := asyncio.current_task()):
            task.cancel()
        call(account, asyncio.CancelledError())

    task = asyncio.create_task(cancelled_call())
    with pytest.raises(asyncio.CancelledError if is_cancelled else RuntimeError):
        await task
    assert (await total(account, tmp_path)).requests == 1


async def test_what_was_not_answered_is_not_in_the_books(account: Account, tmp_path: Path) -> None:
    """Nor is what the ceiling refused."""
    with pytest.raises(ModelError):
        call(account, ModelError("down", may_be_billed=False))
    with (
        pytest.raises(CostLimitReached),
        booked_call(account, "chat", CHAT, reserved_usd=2.0) as booked,
    ):
        booked.answered(29, 44)
    assert ((await total(account, tmp_path)).requests, account.budget.spent_usd) == (0, 0)


async def test_an_answer_is_paid_for_whatever_comes_after_it(
    account: Account, tmp_path: Path
) -> None:
    """A listener that fails, for example."""
    with pytest.raises(ValueError, match="later"):
        call(account, None, then=ValueError("later"))
    found = await total(account, tmp_path)
    assert (found.requests, found.input_tokens, found.unpriced) == (1, 29, 0)


def test_half_of_the_tokens_is_no_price() -> None:
    """Those that are known are told all the same."""
    spent = usage_of_failure(ModelError("?", input_tokens=29), "chat", CHAT, LIST_PRICES)
    assert (spent.input_tokens, spent.output_tokens, spent.cost_usd) == (29, None, None)
