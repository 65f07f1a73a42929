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

MOST_TEXTS: Final = 128
MOST_CHARS: Final = 50_000
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
class _Size:
    """How many texts a joint request to an embedder may have."""

    texts: int = field(default_factory=lambda: MOST_TEXTS)

    def lower(self, failed: Sequence[_Wish]) -> None:
        """Halve it after a joint request that was too large; a document is never divided."""
        counts = [len(wish.texts) for wish in failed]
        self.texts = min(self.texts, max(sum(counts) // 2, *counts))


@dataclass(slots=True, eq=False)
class _Queue:
    """The documents of one payer that wait for one embedder."""

    embedder: Embedder
    account: OpenAccount
    size: _Size
    waiting: deque[_Wish] = field(default_factory=deque)
    requests: int = 0

    def take(self) -> list[_Wish]:
        """Return the documents of the next request, without those that are not waited for."""
        taken: list[_Wish] = []
        texts = chars = 0
        while self.waiting:
            wish = self.waiting[0]
            texts, chars = texts + len(wish.texts), chars + wish.chars
            if taken and (texts > self.size.texts or chars > MOST_CHARS):
                break
            self.waiting.popleft()
            if not wish.vectors.done():
                taken.append(wish)
        return taken


class EmbeddingBatches:
    """Embeds documents that are worked on at once with common requests, on one loop.

    A request has documents of one payer alone, so that the books of every run stay exact. Where it
    fails, each document is tried alone: the failure of one is none of the others, and an embedder
    may be too slow for all of them at once. The shortest is the first. Where it meets an embedder
    that answers nobody, the others are not tried. Where it does not, later requests are smaller.
    """

    def __init__(self) -> None:
        self._queues: dict[Hashable, _Queue] = {}
        self._sizes: dict[str, _Size] = {}
        """By fingerprint of the embedder."""
        self._serving: set[asyncio.Task[None]] = set()

    async def vectors(
        self, embedder: Embedder, texts: Sequence[str], *, payer: Hashable, account: OpenAccount
    ) -> Vectors:
        """Return one vector per text. Raises what `vectors_of` raises.

        `payer` tells whose requests may be one; `account` opens an account of it.
        """
        key = embedder.fingerprint, payer
        size = self._sizes.setdefault(embedder.fingerprint, _Size())
        queue = self._queues.setdefault(key, _Queue(embedder, account, size))
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
    error = await _failure(queue, wishes)
    if error is None:
        return
    if len(wishes) == 1:
        _fail(wishes, error)
    elif await _answer_alone(queue, wishes, error):
        queue.size.lower(wishes)


async def _answer_alone(queue: _Queue, wishes: Sequence[_Wish], joint: Exception) -> bool:
    """Ask for each document alone, until two requests in a row met an outage.

    Return whether the joint request failed for its size, and not for one of its documents.
    """
    answered = failed = 0
    is_out = is_model_unavailable(joint)
    waiting = sorted(wishes, key=lambda wish: wish.chars)
    for wish in waiting:
        if wish.vectors.done():
            continue
        if (error := await _failure(queue, [wish])) is None:
            answered, is_out = answered + 1, False
            continue
        failed, was_out, is_out = failed + 1, is_out, is_model_unavailable(error)
        _fail(waiting if was_out and is_out else [wish], error)
    return answered > 0 and (is_model_unavailable(joint) or not failed)


async def _failure(queue: _Queue, wishes: Sequence[_Wish]) -> Exception | None:
    """Give the documents their vectors with one request; return why there are none."""
    texts = [text for wish in wishes for text in wish.texts]
    try:
        vectors = await vectors_of(queue.embedder, texts, account=await queue.account())
    except Exception as error:  # noqa: BLE001 - those who wait raise it
        return error
    start = 0
    for wish in wishes:
        end = start + len(wish.texts)
        if not wish.vectors.done():
            wish.vectors.set_result(vectors[start:end])
        start = end
    return None


def _fail(wishes: Sequence[_Wish], error: Exception) -> None:
    for wish in wishes:
        if not wish.vectors.done():
            wish.vectors.set_exception(error)
