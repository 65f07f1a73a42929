"""Ports that record their requests and answers."""

from __future__ import annotations

import functools
import time
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, Final

from ..errors import CollectionSearchError, InputError, ModelError, SearchProviderBadResponse
from ..ports import ChatModel
from ..ports.description import describe
from ..runtime.concurrency import offload
from . import Cassette, tape
from .chats import chat_answer, chat_request
from .codec import embedded_answer, failure, plan_answer, search_answer, to_plain
from .judging import judgements_answer, judging_request
from .recorded_pools import POOL_FIELDS
from .requests import embed_request, plan_request, search_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from ..contracts.collection import Embedded
    from ..ports import (
        ChatMessage,
        ChatReply,
        ChatTool,
        Embedder,
        JudgedPage,
        Judgements,
        QueryModel,
        QueryPlan,
        Reranker,
    )

_ENCODERS: Final = {
    "search": search_answer,
    "plan": plan_answer,
    "chat": chat_answer,
    "embed": embedded_answer,
    "judge": judgements_answer,
}


class RecordingCassette(Cassette):
    """A recorder that writes each exchange when it ends and leaves the answers unchanged."""

    replays = False

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        tape.check_tape(self.path)
        tape.append_lines(self.path)
        self._parts: set[str] = set()
        self._scales: set[str] = set()
        """Embedders that were asked for the anchors."""

    def search(self, adapter: Any) -> Any:
        """Return the adapter with its signatures and attributes, recorded."""
        return RecordedSearch(adapter, self)

    def model(self, model: Any) -> QueryModel | None:
        """Return the model, recorded; None for none."""
        if model is None:
            return None
        return (RecordedChatModel if isinstance(model, ChatModel) else RecordedModel)(model, self)

    def embedder(self, embedder: Any) -> Embedder | None:
        """Return the embedder, recorded; None for none."""
        return None if embedder is None else RecordedEmbedder(embedder, self)

    def note_pool(self, question: str, pages: Sequence[Mapping[str, Any]]) -> None:
        """Write the pages that a run ranks, in their order."""
        rows = [{name: page[name] for name in POOL_FIELDS} for page in pages]
        pool = {"question": question, "pages": rows}
        tape.append_lines(self.path, {"pool": self._scrubber.scrubbed(to_plain(pool))})

    def ensemble(self, first: Embedder, given: Sequence[Embedder]) -> list[Embedder]:
        """Return the embedders beside the first one, recorded."""
        return [RecordedEmbedder(each, self, beside=first.fingerprint) for each in given]

    def reranker(self, judge: Reranker | str) -> Reranker | str:
        """Return the reranker, recorded; without one it is written who judges."""
        if not isinstance(judge, str):
            return RecordedReranker(judge, self)
        self.introduce("reranker", judge, None)
        return judge

    def introduce(self, part: str, name: str, adapter: object, **facts: Any) -> None:
        """Write once who will answer, and mask the adapter's secrets from now on."""
        self.hide(adapter)
        value = self._scrubber.scrubbed(to_plain({"part": part, "name": name, **facts}))
        with self._lock:
            if (known := repr(value)) in self._parts:
                return
            tape.append_lines(self.path, value)
            self._parts.add(known)

    def write_exchange(
        self, kind: str, by: str, request: Mapping[str, Any], outcome: Any, started: float
    ) -> None:
        """Write one exchange; `outcome` is the answer or the exception."""
        name, asked = self._scrubber.text(by), self._scrubber.scrubbed(request)
        value = {
            "kind": kind,
            "by": name,
            "key": tape.key_of(kind, name, asked),
            "request": asked,
            **self._told(kind, by, outcome),
            "latency_ms": round((time.perf_counter() - started) * 1000, 3),
        }
        tape.append_lines(self.path, value)

    def note_embedding(self, fingerprint: str, texts: Sequence[str]) -> None:
        """Note whether the embedder is asked for the anchors, which give it its scale."""
        from ..ranking.anchors import anchor_texts

        if list(texts[:1]) == anchor_texts()[:1]:
            with self._lock:
                self._scales.add(fingerprint)

    def unrecorded_scale(self, fingerprint: str) -> Path | None:
        """Return the folder for it; None once the embedder was asked for the anchors."""
        with self._lock:
            return None if fingerprint in self._scales else self._nowhere

    def _told(self, kind: str, by: str, outcome: Any) -> dict[str, Any]:
        """Return the answer or the error, masked; vectors are no texts and stay as they are."""
        if not isinstance(outcome, BaseException):
            try:
                told = _ENCODERS[kind](outcome)
            except InputError as error:
                outcome = _of_no_use(kind, f"{by}: {error}")
            else:
                vectors = {name: told.pop(name) for name in ("vectors",) if name in told}
                return {"answer": self._scrubber.scrubbed(told) | vectors}
        if isinstance(outcome, CancelledError):  # most likely the time was over
            outcome = TimeoutError("the call was cut off")
        return {"error": self._scrubber.scrubbed(failure(outcome))}


def _of_no_use(kind: str, message: str) -> CollectionSearchError:
    """Return the error of a part that is wrong itself: no provider gave it a status."""
    if kind != "search":
        return ModelError(message)
    error = SearchProviderBadResponse(message)
    error.http_status = None
    return error


class RecordedSearch:
    """A search adapter with the same signatures and attributes as the one that it records."""

    def __init__(self, adapter: Any, cassette: RecordingCassette) -> None:
        self._adapter = adapter
        self._cassette = cassette
        described = describe(adapter)
        info, search, asearch = described.info, described.search, described.asearch
        self.provider_name = info.name
        self.search = self._blocking(search.function)
        if asearch is not None:
            self.asearch = self._awaiting(asearch.function)
        keywords = (asearch or search).keywords
        cassette.introduce(
            "search", info.name, adapter, keywords=keywords, page_size=info.page_size
        )

    def __getattr__(self, name: str) -> Any:
        if name == "_adapter":
            raise AttributeError(name)
        return getattr(self._adapter, name)

    def _blocking(self, search: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(search)
        def call(query: str, **keywords: Any) -> Any:
            started = time.perf_counter()
            try:
                answer = search(query, **keywords)
            except Exception as error:
                self._note(query, keywords, error, started)
                raise
            self._note(query, keywords, answer, started)
            return answer

        return call

    def _awaiting(self, asearch: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(asearch)
        async def call(query: str, **keywords: Any) -> Any:
            note = functools.partial(self._note, query, keywords)
            return await _recorded(lambda: asearch(query, **keywords), note)

        return call

    def _note(self, query: str, keywords: dict[str, Any], outcome: Any, started: float) -> None:
        request = search_request(query, keywords)
        self._cassette.write_exchange("search", self.provider_name, request, outcome, started)


class RecordedModel:
    """A query model, recorded."""

    def __init__(self, model: Any, cassette: RecordingCassette) -> None:
        self._model = model
        self._cassette = cassette
        self.model_name: str = model.model_name
        can_chat = {"chats": True} if isinstance(model, ChatModel) else {}
        cassette.introduce("model", self.model_name, model, **can_chat)

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return or raise what the model does."""
        request = plan_request(question, purpose, count)
        note = functools.partial(self._cassette.write_exchange, "plan", self.model_name, request)
        plan: QueryPlan = await _recorded(
            lambda: self._model.plan(question, purpose=purpose, count=count), note
        )
        return plan


class RecordedChatModel(RecordedModel):
    """A query model that chats too, recorded."""

    async def chat(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[ChatTool] = ()
    ) -> ChatReply:
        """Return or raise what the model does."""
        request = chat_request(messages, tools)
        note = functools.partial(self._cassette.write_exchange, "chat", self.model_name, request)
        reply: ChatReply = await _recorded(lambda: self._model.chat(messages, tools=tools), note)
        return reply


class RecordedEmbedder:
    """An embedder, recorded."""

    def __init__(
        self, embedder: Any, cassette: RecordingCassette, *, beside: str | None = None
    ) -> None:
        """Record the embedder; `beside` is the first one of its ensemble."""
        self._embedder = embedder
        self._cassette = cassette
        self.fingerprint: str = embedder.fingerprint
        if beside is None:
            cassette.introduce("embedder", self.fingerprint, embedder)
        else:
            cassette.introduce("ensemble", self.fingerprint, embedder, beside=beside)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return or raise what the embedder does."""
        note = functools.partial(
            self._cassette.write_exchange, "embed", self.fingerprint, embed_request(texts)
        )
        await offload(self._cassette.note_embedding, self.fingerprint, texts)
        embedded: Embedded = await _recorded(lambda: self._embedder.embed(texts), note)
        return embedded


class RecordedReranker:
    """A reranker, recorded."""

    def __init__(self, judge: Reranker, cassette: RecordingCassette) -> None:
        self._judge = judge
        self._cassette = cassette
        self.reranker_name = judge.reranker_name
        cassette.introduce("reranker", self.reranker_name, judge)

    async def judge(self, question: str, pages: Sequence[JudgedPage]) -> Judgements:
        """Return or raise what the reranker does."""
        request = judging_request(question, pages)
        cassette, name = self._cassette, self.reranker_name
        note = functools.partial(cassette.write_exchange, "judge", name, request)
        return await _recorded(lambda: self._judge.judge(question, pages), note)  # type: ignore[no-any-return]


async def _recorded(call: Callable[[], Awaitable[Any]], note: Callable[[Any, float], None]) -> Any:
    """Return or raise what the call does; how it ended is written off the loop."""
    started = time.perf_counter()
    try:
        answer = await call()
    except CancelledError as error:
        note(error, started)
        raise
    except Exception as error:
        await offload(note, error, started)
        raise
    await offload(note, answer, started)
    return answer
