"""Ports that write down what passes through them."""

from __future__ import annotations

import functools
import logging
import threading
import time
import uuid
from asyncio import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..errors import CollectionSearchError, InputError, ModelError, SearchProviderBadResponse
from ..ports.description import describe
from ..runtime.concurrency import offload
from . import Cassette, tape
from .codec import embedded_answer, failure, plan_answer, search_answer, to_plain
from .requests import embed_request, plan_request, search_request
from .scrubbing import Scrubber

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from ..contracts.collection import Embedded
    from ..ports import Embedder, QueryModel, QueryPlan

logger = logging.getLogger(__name__)

_ENCODERS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "search": search_answer,
    "plan": plan_answer,
    "embed": embedded_answer,
}


class RecordingCassette(Cassette):
    """Writes every exchange as soon as it is over; what the run gets stays as it was."""

    replays = False

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        tape.check_tape(self.path)
        tape.append_lines(self.path)
        self._scrubber = Scrubber()
        self._parts: set[str] = set()
        self._scales: set[str] = set()
        self._lock = threading.Lock()

    @property
    def reason(self) -> str:
        """Why the provider is the one that it is: not the cassette's business."""
        return ""

    def hide(self, *owners: object) -> None:
        """Keep the secrets of these objects out of the file."""
        with self._lock:
            self._scrubber.hide(*owners)

    def search(self, adapter: Any) -> Any:
        """Return the adapter with its dialect and its attributes, recorded."""
        self.hide(adapter)
        return RecordedSearch(adapter, self)

    def model(self, model: Any) -> QueryModel | None:
        """Return the model, recorded; None for none."""
        if model is None:
            return None
        self.hide(model)
        return RecordedModel(model, self)

    def embedder(self, embedder: Any) -> Embedder | None:
        """Return the embedder, recorded; None for none."""
        if embedder is None:
            return None
        self.hide(embedder)
        return RecordedEmbedder(embedder, self)

    def introduce(self, part: str, name: str, **facts: Any) -> None:
        """Write who will answer, once."""
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

    def needs_scale(self, fingerprint: str) -> bool:
        """Return whether nobody has begun to record what gives this embedder its scale."""
        with self._lock:
            is_new = fingerprint not in self._scales
            self._scales.add(fingerprint)
            return is_new

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
        self._name = self.provider_name = info.name
        self.search = self._blocking(search.function)
        if asearch is not None:
            self.asearch = self._awaiting(asearch.function)
        keywords = (asearch or search).keywords
        cassette.introduce("search", self._name, keywords=keywords, page_size=info.page_size)

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
        self._cassette.write_exchange("search", self._name, request, outcome, started)


class RecordedModel:
    """A query model, recorded."""

    def __init__(self, model: Any, cassette: RecordingCassette) -> None:
        self._model = model
        self._cassette = cassette
        self.model_name: str = model.model_name
        cassette.introduce("model", self.model_name)

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return or raise what the model does."""
        note = functools.partial(
            self._cassette.write_exchange,
            "plan",
            self.model_name,
            plan_request(question, purpose, count),
        )
        plan: QueryPlan = await _recorded(
            lambda: self._model.plan(question, purpose=purpose, count=count), note
        )
        return plan


class RecordedEmbedder:
    """An embedder, recorded, and with it once the texts that give its similarities their scale.

    A machine that has measured the scale before would not ask for them; one that replays may have
    to. They take one request more, the size of a few hundred sentences.
    """

    def __init__(self, embedder: Any, cassette: RecordingCassette) -> None:
        self._embedder = embedder
        self._cassette = cassette
        self.fingerprint: str = embedder.fingerprint
        cassette.introduce("embedder", self.fingerprint)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return or raise what the embedder does."""
        embedded = await self._embedded(texts)
        await self._measured(texts)
        return embedded

    async def _embedded(self, texts: Sequence[str]) -> Embedded:
        note = functools.partial(
            self._cassette.write_exchange, "embed", self.fingerprint, embed_request(texts)
        )
        embedded: Embedded = await _recorded(lambda: self._embedder.embed(texts), note)
        return embedded

    async def _measured(self, texts: Sequence[str]) -> None:
        if not self._cassette.needs_scale(self.fingerprint):
            return
        from ..ranking.calibration import anchor_texts, calibration_of

        anchors = await offload(anchor_texts)
        if list(texts[:1]) == anchors[:1]:  # the run asks for them itself
            return
        nowhere = self._cassette.path / uuid.uuid4().hex
        with suppress(CollectionSearchError):  # the failure is on the cassette
            await calibration_of(self, folder=nowhere)


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
