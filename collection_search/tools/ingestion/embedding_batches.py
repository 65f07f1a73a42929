"""Requests for the vectors of several documents at once."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .embedders import vectors_of
from .failures import is_model_unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Sequence

    from ...contracts.collection import Vectors
    from ...ports import Embedder
    from ..spending.account import Account

    OpenAccount = Callable[[], Awaitable[Account]]

MAX_TEXTS: Final = 128
MAX_CHARS: Final = 50_000
"""Limits of one request; a document with more has one of its own.

The time limit of a model is one of a request, and some embed ten texts in a second.
"""
AT_ONCE: Final = 2
"""Requests of one payer; what comes meanwhile waits for the next one."""


@dataclass(slots=True, eq=False)
class _Wish:
    """The texts of one document that are to be embedded."""

    texts: Sequence[str]
    vectors: asyncio.Future[Vectors]
    chars: int = field(init=False)

    def __post_init__(self) -> None:
        self.chars = sum(map(len, self.texts))


@dataclass(slots=True, eq=False)
class _Queue:
    """The documents of one payer that wait for one embedder."""

    embedder: Embedder
    account: OpenAccount
    waiting: deque[_Wish] = field(default_factory=deque)
    requests: int = 0

    def take(self) -> list[_Wish]:
        """Return the documents of the next request, without those that are not waited for."""
        taken: list[_Wish] = []
        texts = chars = 0
        while self.waiting:
            wish = self.waiting[0]
            texts, chars = texts + len(wish.texts), chars + wish.chars
            if taken and (texts > MAX_TEXTS or chars > MAX_CHARS):
                break
            self.waiting.popleft()
            if not wish.vectors.done():
                taken.append(wish)
        return taken


class EmbeddingBatches:
    """Embeds documents that are worked on at once with common requests, on one loop.

    A request has documents of one payer alone, so that the books of every run stay exact. Where it
    fails for another reason than an embedder that answers nobody, each document is tried alone:
    the failure of one is none of the others.
    """

    def __init__(self) -> None:
        self._queues: dict[Hashable, _Queue] = {}
        self._serving: set[asyncio.Task[None]] = set()

    async def vectors(
        self, embedder: Embedder, texts: Sequence[str], *, payer: Hashable, account: OpenAccount
    ) -> Vectors:
        """Return one vector per text. Raises what `vectors_of` raises.

        `payer` tells whose requests may be one; `account` opens an account of it.
        """
        key = embedder.fingerprint, payer
        queue = self._queues.setdefault(key, _Queue(embedder, account))
        wish = _Wish(texts, asyncio.get_running_loop().create_future())
        queue.waiting.append(wish)
        if queue.requests < AT_ONCE:
            queue.requests += 1
            serving = asyncio.create_task(self._serve(key, queue))
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)
        return await wish.vectors

    async def _serve(self, key: Hashable, queue: _Queue) -> None:
        try:
            while wishes := queue.take():
                await _answer(queue, wishes)
        finally:
            queue.requests -= 1
            if not queue.requests:
                self._queues.pop(key, None)


async def _answer(queue: _Queue, wishes: Sequence[_Wish]) -> None:
    """Give the documents their vectors, or the error."""
    texts = [text for wish in wishes for text in wish.texts]
    try:
        vectors = await vectors_of(queue.embedder, texts, account=await queue.account())
    except Exception as error:  # noqa: BLE001 - those who wait raise it
        if len(wishes) > 1 and not is_model_unavailable(error):
            for wish in wishes:
                await _answer(queue, [wish])
            return
        for wish in wishes:
            if not wish.vectors.done():
                wish.vectors.set_exception(error)
        return
    start = 0
    for wish in wishes:
        end = start + len(wish.texts)
        if not wish.vectors.done():
            wish.vectors.set_result(vectors[start:end])
        start = end
