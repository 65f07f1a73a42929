"""The account of a run: its budget, its spending, and its cached answers."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter, defaultdict
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ...contracts.collection import model_of
from ...contracts.prices import total_if_known
from ...errors import CollectionSearchError, ConfigError
from ...ports.usage import RunAnswerCache, SpendEntry
from ...text.redaction import redact_query
from .budget import RunBudget
from .spend_writer import SpendBatch, cached_answers, call_or_warn, spend_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...context import SearchContext
    from ...contracts.price_list import PriceKind
    from ...contracts.search import WebSearchResponse
    from ...contracts.state import RunIds
    from ...ports.usage import Payload, SpendKind, UsageStore
    from .budget import RunSpending

T = TypeVar("T")

_NOT_CACHED: Final = "Answers cannot be written down."

logger = logging.getLogger(__name__)
_closing: set[asyncio.Task[None]] = set()


class Account:
    """The budget and spending of a part of a run; `close` has it written outside the event loop.

    Its ceiling is for all accounts with the same `spending`, without it for this one alone: see
    `run_spendings.open_account`. An error in recording does not fail a run: it is logged.
    """

    def __init__(
        self,
        context: SearchContext,
        ids: RunIds,
        spending: RunSpending | None = None,
        *,
        began_at: float | None = None,
    ) -> None:
        """`began_at` is the time of the run's begin, by default now."""
        self.prices = context.prices()
        self.budget = RunBudget(
            context.cost_limit(),
            spending=spending,
            requires_prices=context.using().require_prices,
        )
        self._context = context
        self._ids = ids
        self._spending = spending
        self._began_at = time.time() if began_at is None else began_at
        self._entries: list[SpendEntry] = []
        self._answers: defaultdict[str, dict[str, Payload]] = defaultdict(dict)
        """By kind and key."""
        self._paid: list[tuple[str, int, float | None]] = []
        self._recorded = 0
        """Number of these that are among the entries."""
        self._calls: list[tuple[SpendKind, str, dict[str, Any]]] = []
        """Calls of models that the metrics do not count yet."""
        self._is_closed = False
        self._question: str | None = None

    def name_question(self, question: object) -> None:
        """Keep what the run was asked beside its spending, as the setting `capture_query` says."""
        if isinstance(question, str):
            self._question = redact_query(question, self._context.using().capture_query)

    def record_cost(
        self,
        kind: SpendKind,
        name: str,
        cost_usd: float | None,
        *,
        requests: int = 1,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> None:
        """Record the cost of a model's calls, None where it is not known, and count them.

        Free calls are counted for monitoring only.
        """
        facts = {"requests": requests, "cost_usd": cost_usd}
        counted = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        self._calls.append((kind, name, facts | counted))
        if cost_usd != 0:
            tokens = {way: count or 0 for way, count in counted.items()}
            self._record(kind, name, **facts, **tokens)
        self._close_again()  # a measurement shared with another run may outlive this one

    def record_saved(self, kind: PriceKind, name: str, *, requests: int = 1) -> None:
        """Record calls that were saved by cached answers, unless they had cost nothing."""
        if not self.prices.is_free(kind, name):
            self._record(kind, name, requests=requests, cost_usd=0.0, cached=True)

    def record_billed(self, provider: str, requests: int, cost_usd: float | None) -> None:
        """Record a search that is or may be billed, None where its cost is not known."""
        self._paid.append((provider, requests, cost_usd))
        self._close_again()  # a search shared with another run may outlive this one

    def total_search_cost(self, responses: Sequence[WebSearchResponse]) -> float | None:
        """Return the cost of all searches, None where it is not known; record the saved ones."""
        metas = [response.outcome.meta for response in responses]
        cached = Counter(meta["provider"] for meta in metas if meta.get("cached"))
        for provider, count in cached.items():
            self.record_saved("search", provider, requests=count)
        return total_if_known([cost for _, _, cost in self._paid])

    async def read_cached_answers(
        self, kind: str, keys: Sequence[str], read: Callable[[Any], T]
    ) -> dict[str, T]:
        """Return the cached answers by key; `read` makes them from JSON."""
        max_age_s = self._context.answer_cache_s()
        if not max_age_s or not keys or (store := await self._context.usage()) is None:
            return {}

        def read_all(payloads: Mapping[str, bytes]) -> dict[str, T]:
            return {key: read(json.loads(payload)) for key, payload in payloads.items()}

        tenant = self._context.tenant()
        found = await cached_answers(store, tenant, kind, keys, max_age_s=max_age_s, read=read_all)
        return found or {}

    def cache_answers(self, kind: str, tell: Callable[[], Mapping[str, Any]]) -> None:
        """Cache answers; `tell` returns them by key: JSON values, or functions of their bytes.

        A function is called when its answer is written or read.
        """
        if self._context.answer_cache_s() and (answers := call_or_warn(tell, _NOT_CACHED)):
            payloads: dict[str, Payload] = {k: _payload(each) for k, each in answers.items()}
            self._answers[kind].update(payloads)
            self._close_again()

    async def close(self, *, is_last: bool = True) -> None:
        """Pass entries and answers to the writer; the `is_last` part of a run has them written.

        This does not wait for the writer; see `SpendWriter.flush`.
        """
        self._is_closed = True
        await self._count_calls()
        self._add_searches()
        if self._entries or self._answers:
            store = await self._context.usage()
            if store is not None:
                for kind in tuple(self._answers):
                    payloads = self._answers.pop(kind)
                    call_or_warn(partial(self._put, store, kind, payloads), _NOT_CACHED)
                entries, self._entries = self._entries, []
                settings = self._context.using()
                days, answer_cache_s = settings.spend_days, settings.answer_cache_s
                written = partial(self._note_written, entries)
                spend_writer().add(SpendBatch(store, entries, days, answer_cache_s, written))
        if is_last:
            spend_writer().write_soon()

    def _note_written(self, entries: Sequence[SpendEntry]) -> None:
        if self._spending is not None:
            known = (entry.exact_cost for entry in entries if entry.exact_cost is not None)
            self._spending.note_written(self._ids["run_id"], sum(known, Decimal(0)))

    def _put(self, store: UsageStore, kind: str, payloads: Mapping[str, Payload]) -> None:
        tenant = self._context.tenant()
        if isinstance(store, RunAnswerCache):
            store.put_of_run(tenant, kind, payloads, began_at=self._began_at)
        else:  # that of a host
            store.put_many(tenant, kind, payloads)

    async def _count_calls(self) -> None:
        """Count the calls of models in the metrics; the search worker counts searches."""
        if not self._calls:
            return
        calls, self._calls = self._calls, []
        try:
            metrics = await self._context.metrics()
        except ConfigError as error:
            logger.warning("what the models cost is not counted: %s", error)
            return
        for kind, name, facts in calls:
            model = model_of(name) if kind == "embedding" else name
            metrics.record_spending(kind, model, **facts)

    def _add_searches(self) -> None:
        """Add one entry for all searches of a provider with a known cost, and one for others."""
        calls: defaultdict[tuple[str, bool], list[tuple[int, float | None]]] = defaultdict(list)
        for provider, requests, usd in self._paid[self._recorded :]:
            calls[provider, usd is not None].append((requests, usd))
        self._recorded = len(self._paid)
        for (provider, _), paid in calls.items():
            cost = total_if_known([usd for _, usd in paid])
            if cost != 0:
                requests = sum(n for n, _ in paid)
                self._record("search", provider, requests=requests, cost_usd=cost)

    def _close_again(self) -> None:
        if self._is_closed:
            _closing.add(task := asyncio.ensure_future(self.close()))
            task.add_done_callback(_closing.discard)

    def _record(self, kind: SpendKind, name: str, **facts: Any) -> None:
        run_id, tenant = self._ids["run_id"], self._context.tenant()
        try:
            facts |= {"question": self._question, "began_at": self._began_at}
            entry = SpendEntry(tenant, run_id, time.time(), kind, name, **facts)
            self._entries.append(entry)
        except CollectionSearchError as error:
            logger.warning("what the run spent cannot be written down: %s", error)


def answer_key(*parts: str) -> str:
    """Return the cache key of an answer to exactly these words.

    >>> answer_key("a", "bc") == answer_key("ab", "c"), len(answer_key("a"))
    (False, 40)
    """
    return blake2b(json.dumps(parts).encode(), digest_size=20).hexdigest()


def _payload(answer: Any) -> Payload:
    """Return the function that makes the bytes of an answer."""
    return cast("Payload", answer) if callable(answer) else partial(_in_json, answer)


def _in_json(answer: Any) -> bytes:
    return json.dumps(answer).encode()
