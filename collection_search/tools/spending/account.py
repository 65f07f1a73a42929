"""The money of a run: what it may spend, what it spent, and what it need not pay for again."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter, defaultdict
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...contracts.prices import search_cost, total_cost
from ...errors import CollectionSearchError
from ...ports.usage import SpendEntry
from .budget import RunBudget
from .spend_writer import SpendBatch, cached_answers, call_or_warn, spend_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...context import SearchContext
    from ...contracts.collection import Vectors
    from ...contracts.search import WebSearchResponse
    from ...contracts.state import RunIds
    from ...ports.usage import Payload, SpendKind, UsageStore

T = TypeVar("T")

_VECTOR: Final = "vector"
_FLOAT32: Final = "<f4"
_FLOAT32_BYTES: Final = 4
_NOT_KEPT: Final = "Answers cannot be written down."

logger = logging.getLogger(__name__)
_closing: set[asyncio.Task[None]] = set()


class Account:
    """What a part of a run may spend and has spent; `close` has it written down off the loop.

    Nothing here fails or holds up a run: without books it is only not known what was spent.
    """

    def __init__(self, context: SearchContext, ids: RunIds, spent_usd: float = 0.0) -> None:
        self.budget = RunBudget(context.cost_limit(), spent_usd)
        self._context = context
        self._ids = ids
        self._entries: list[SpendEntry] = []
        self._answers: defaultdict[str, dict[str, Payload]] = defaultdict(dict)
        """By kind and key."""
        self._paid: list[tuple[str, int, float | None]] = []
        self._booked = 0
        """How many of these are among the entries."""
        self._is_closed = False

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
        """Note what calls cost, None where that is not known; what is free is not noted."""
        if cost_usd == 0:
            return
        self._note(
            kind,
            name,
            requests=requests,
            input_tokens=input_tokens or 0,
            output_tokens=output_tokens or 0,
            cost_usd=cost_usd,
        )

    def record_saved(self, kind: SpendKind, name: str, *, requests: int = 1) -> None:
        """Note calls that were not made, since their answers were known."""
        self._note(kind, name, requests=requests, cost_usd=0.0, cached=True)

    def record_billed(self, provider: str, requests: int, cost_usd: float | None) -> None:
        """Note a search that is or may be billed, None where its cost is not known.

        It may outlive the run, where another one waits for the same answer.
        """
        self._paid.append((provider, requests, cost_usd))
        self._hand_over_late()

    def total_search_cost(self, responses: Sequence[WebSearchResponse]) -> float | None:
        """Return what all searches cost, None where that is not known; note what was spared."""
        metas = [response.outcome.meta for response in responses]
        cached = Counter(meta["provider"] for meta in metas if meta.get("cached"))
        for provider, count in cached.items():
            if search_cost(provider, 1) != 0:
                self.record_saved("search", provider, requests=count)
        return _sum([cost for _, _, cost in self._paid])

    async def read_cached_answers(
        self, kind: str, keys: Sequence[str], read: Callable[[Any], T]
    ) -> dict[str, T]:
        """Return the answers that are known and fresh, by key; `read` makes them out of JSON."""

        def made(payloads: Mapping[str, bytes]) -> dict[str, T]:
            return {key: read(json.loads(payload)) for key, payload in payloads.items()}

        return await self._looked_up(kind, keys, made)

    async def read_cached_vectors(self, keys: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors that are known and fresh, each `(1, d)` and read-only, by key."""
        return await self._looked_up(_VECTOR, keys, _vectors_of)

    async def _looked_up(
        self, kind: str, keys: Sequence[str], made: Callable[[Mapping[str, bytes]], dict[str, T]]
    ) -> dict[str, T]:
        max_age_s = self._context.answer_cache_s()
        if not max_age_s or not keys or (store := await self._context.usage()) is None:
            return {}
        tenant = self._context.tenant()
        return await cached_answers(store, tenant, kind, keys, max_age_s=max_age_s, read=made) or {}

    def cache_answers(self, kind: str, tell: Callable[[], Mapping[str, Any]]) -> None:
        """Remember answers for the next run; `tell` returns them by key, as JSON has them.

        A function among them is called when its answer is written down or looked for.
        """

        def payloads() -> dict[str, Payload]:
            return {key: partial(_in_json, answer) for key, answer in tell().items()}

        self._keep(kind, payloads)

    def cache_vectors(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Remember the rows of `(n, d)`, one per key, but for those that are not finite."""
        self._keep(_VECTOR, partial(_vector_payloads, keys, vectors))

    def _keep(self, kind: str, told: Callable[[], Mapping[str, Payload]]) -> None:
        if self._context.answer_cache_s() and (payloads := call_or_warn(told, _NOT_KEPT)):
            self._answers[kind].update(payloads)
            self._hand_over_late()

    async def close(self, *, is_last: bool = True) -> None:
        """Hand over what is to be written down: with the `is_last` part of a run it is at once.

        Nobody waits for that; see `SpendWriter.wait_until_done`. Answers can be found from now on.
        """
        self._is_closed = True
        self._book()
        if self._entries or self._answers:
            store = await self._context.usage()
            if store is not None:
                for kind in tuple(self._answers):
                    payloads = self._answers.pop(kind)
                    put = partial(store.put_many, self._context.tenant(), kind, payloads)
                    call_or_warn(put, _NOT_KEPT)
                spend_writer().add(self._batch(store))
        if is_last:
            spend_writer().write_soon()

    def _book(self) -> None:
        """Make one entry of all searches of a provider whose cost is known, and one of others."""
        new, self._booked = self._paid[self._booked :], len(self._paid)
        for provider, is_known in dict.fromkeys((name, usd is not None) for name, _, usd in new):
            calls = [
                (n, usd) for name, n, usd in new if (name, usd is not None) == (provider, is_known)
            ]
            cost = _sum([usd for _, usd in calls])
            self.record_cost("search", provider, cost, requests=sum(n for n, _ in calls))

    def _hand_over_late(self) -> None:
        if self._is_closed:
            _closing.add(task := asyncio.ensure_future(self.close()))
            task.add_done_callback(_closing.discard)

    def _batch(self, store: UsageStore) -> SpendBatch:
        entries, self._entries = self._entries, []
        settings = self._context.using()
        return SpendBatch(
            store,
            entries,
            spend_days=settings.spend_days,
            answer_cache_s=settings.answer_cache_s,
        )

    def _note(self, kind: SpendKind, name: str, **facts: Any) -> None:
        run_id, tenant = self._ids["run_id"], self._context.tenant()
        try:
            self._entries.append(SpendEntry(tenant, run_id, time.time(), kind, name, **facts))
        except CollectionSearchError as error:
            logger.warning("what the run spent cannot be written down: %s", error)


def answer_key(*parts: str) -> str:
    """Return a key under which an answer to just these words is remembered.

    >>> answer_key("a", "bc") == answer_key("ab", "c"), len(answer_key("a"))
    (False, 40)
    """
    return blake2b(json.dumps(parts).encode(), digest_size=20).hexdigest()


def _in_json(answer: Any) -> bytes:
    return json.dumps(answer() if callable(answer) else answer).encode()


def _vector_payloads(keys: Sequence[str], vectors: Vectors) -> dict[str, Payload]:
    import numpy as np

    rows = np.ascontiguousarray(vectors, dtype=_FLOAT32)
    finite = np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist()
    return {keys[n]: rows[n].tobytes() for n in finite}


def _vectors_of(payloads: Mapping[str, bytes]) -> dict[str, Vectors]:
    """Return the vectors, none where they cannot be of one model."""
    import numpy as np

    sizes = {len(payload) for payload in payloads.values()}
    if len(sizes) != 1 or (size := sizes.pop()) == 0 or size % _FLOAT32_BYTES:
        return {}
    rows = np.frombuffer(b"".join(payloads.values()), _FLOAT32).reshape(len(payloads), -1)
    rows = rows.astype(np.float32, copy=False)
    keys = list(payloads)
    finite = np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist()
    return {keys[n]: rows[n : n + 1] for n in finite}


def _sum(costs: Sequence[float | None]) -> float | None:
    """Return the exact sum, None when a part of it is not known."""
    known = [cost for cost in costs if cost is not None]
    return total_cost(known) if len(known) == len(costs) else None
