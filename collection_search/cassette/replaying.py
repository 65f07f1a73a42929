"""Ports that answer from a cassette alone."""

from __future__ import annotations

import inspect
from collections import deque
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from ..errors import InputError, SearchProviderError, SearchProviderInvalidQuery
from ..ports.description import describe
from ..ports.search_function import KEYWORDS
from ..settings.ensemble import split_names
from ..text.redaction import redact
from . import Cassette, tape
from .chats import chat_request, read_chat_answer
from .codec import read_embedded_answer, read_failure, read_plan_answer, read_search_answer
from .judging import ReplayedReranker, read_judgements_answer
from .requests import embed_request, plan_request, search_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ..contracts.collection import Embedded
    from ..contracts.search import SearchAdapterResponse
    from ..ports import ChatMessage, ChatReply, ChatTool, Embedder, QueryModel, QueryPlan, Reranker

_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "search": read_search_answer,
    "plan": read_plan_answer,
    "chat": read_chat_answer,
    "embed": read_embedded_answer,
    "judge": read_judgements_answer,
}
_SHOWN_CHARS: Final = 120


class NotRecordedError(InputError, SearchProviderInvalidQuery):
    """A search that the recording lacks; no provider was called, so there are no costs."""


class ReplayingCassette(Cassette):
    """A player that validates the whole file before the first request."""

    replays = True

    def __init__(self, path: str | Path, *, waits: bool = False) -> None:
        super().__init__(path)
        self._waits = waits
        self._parts: dict[str, dict[str, dict[str, Any]]] = {}
        self._outcomes: dict[str, deque[dict[str, Any]]] = {}
        self._missing: list[str] = []
        header, *lines = tape.read_tape(self.path)
        self._recorded = str(header.value.get("recorded", ""))[:10]
        for line in lines:
            self._take(line)

    @property
    def reason(self) -> str:
        """Why the run uses its search provider."""
        recorded = f", recorded {self._recorded}" if self._recorded else ""
        return f"replayed from {self.path.name}{recorded}"

    @property
    def recorded_judge(self) -> str | None:
        """Who judged in the recorded run."""
        part = self._part("reranker", None)
        return None if part is None else part["name"]

    @property
    def missing(self) -> list[str]:
        """Requests that the recording lacks, in order."""
        with self._lock:
            return list(self._missing)

    def search(self, adapter: Any) -> Any:
        """Return the recorded provider."""
        is_name = adapter is None or isinstance(adapter, str)
        given = adapter if is_name else describe(adapter).info.name
        part = self._part("search", None if given == "auto" else given)
        if part is None:
            raise InputError(f"{self.path} holds no search. Record it anew.")
        return ReplayedSearch(part, self)

    def model(self, model: Any) -> QueryModel | None:
        """Return the recorded model; None when the recorded run had none."""
        part = self._part("model", _named(model, "model_name"))
        if part is None:
            return None
        return (ReplayedChatModel if part.get("chats") else ReplayedModel)(part["name"], self)

    def embedder(self, embedder: Any) -> Embedder | None:
        """Return the recorded embedder; None when the recorded run had none."""
        part = self._part("embedder", _named(embedder, "fingerprint"))
        return None if part is None else ReplayedEmbedder(part["name"], self)

    def ensemble(self, first: Embedder, given: Any) -> list[Embedder]:
        """Return the embedders that were recorded beside the first one, or the given of them."""
        names = split_names(given)
        if given is None:
            own = self._scrubber.text(first.fingerprint)
            known = self._parts.get("ensemble", {}).values()
            names = [part["name"] for part in known if part.get("beside") == own]
        parts = [self._part("ensemble", _named(each, "fingerprint")) for each in names]
        return [ReplayedEmbedder(part["name"], self) for part in parts if part is not None]

    def reranker(self, judge: Reranker | str) -> Reranker | str:
        """Return the recorded reranker; the chat model's judgements are among its chats."""
        if isinstance(judge, str) and judge in ("model", "none"):
            return judge
        name = _named(judge, "reranker_name") or ""
        kind, _, folder = name.partition(":")
        of_folder = self._scrubber.text(f"{kind}:{PurePath(folder).name}:")  # then its digest
        known = self._parts.get("reranker", {})
        alike = [each for each in known if each.startswith(of_folder)]
        part = self._part("reranker", name if name in known or not alike else alike[-1])
        return judge if part is None else ReplayedReranker(part["name"], self)

    def recorded_scale(self, fingerprint: str) -> Path | None:
        """Return the folder for it, so that a replay does not depend on the machine."""
        from ..ranking.anchors import anchor_texts

        request = self._scrubber.scrubbed(embed_request(anchor_texts()))
        outcomes = self._outcomes.get(tape.key_of("embed", fingerprint, request), ())
        return self._nowhere if any("answer" in one for one in outcomes) else None

    def play(self, kind: str, by: str, request: dict[str, Any], what: str) -> Any:
        """Return or raise what was recorded next for this request."""
        key = tape.key_of(kind, by, self._scrubber.scrubbed(request))
        with self._lock:
            outcomes = self._outcomes.get(key)
            if outcomes is None:
                self._missing.append(what)
                missing = NotRecordedError if kind == "search" else InputError
                raise missing(
                    f"{self.path.name} holds no {what} by {by}. The question, the model or the"
                    " options differ from the recorded ones: ask as then, or record anew."
                )
            is_last = len(outcomes) == 1
            outcome = outcomes[0] if is_last else outcomes.popleft()
        if "answer" in outcome:
            return _READERS[kind](outcome["answer"])
        error = read_failure(outcome["error"])
        if isinstance(error, SearchProviderError) and not is_last and not self._waits:
            error.retry_in_ms = 0
        raise error

    def _part(self, kind: str, given: str | None) -> dict[str, Any] | None:
        """Return what was recorded under the given name, the last one where none is given."""
        known = self._parts.get(kind, {})
        if given is None:
            return next(reversed(known.values()), None)
        name = self._scrubber.text(given)
        for candidate, part in known.items():
            without_size = candidate.rpartition("@")[0]
            if name in (candidate, without_size) or name.partition(":")[2] == candidate:
                return part
        there = " and ".join(known) or "none"
        raise InputError(
            f"{self.path} was recorded with another {_CALLED[kind]} than {name!r}: {there}. Leave"
            " the name out, or record anew."
        )

    def _take(self, line: tape.Line) -> None:
        try:
            if "part" in line.value:
                self._add_part(line.value)
            elif "kind" in line.value:
                self._add_exchange(line.value)
        except InputError as error:
            raise tape.damaged_error(self.path, line.number, error) from error

    def _add_part(self, value: dict[str, Any]) -> None:
        part, name = value["part"], value.get("name")
        if not isinstance(part, str) or not isinstance(name, str):
            raise InputError("a part has no name")
        known = self._parts.setdefault(part, {})
        known.pop(name, None)  # the last run's is the last one
        known[name] = value

    def _add_exchange(self, value: dict[str, Any]) -> None:
        kind, by, request = value["kind"], value.get("by"), value.get("request")
        if not isinstance(kind, str) or kind not in _READERS:
            raise InputError(f"there is no exchange of the kind {kind!r}")
        if not isinstance(by, str) or not isinstance(request, dict):
            raise InputError("the exchange does not say what was asked of whom")
        if value.get("key") != (key := tape.key_of(kind, by, request)):
            raise InputError("the key is not that of the request")
        if ("answer" in value) == ("error" in value):
            raise InputError("there has to be either an answer or an error")
        if "answer" in value:
            _READERS[kind](value["answer"])
        else:
            read_failure(value["error"])
        self._outcomes.setdefault(key, deque()).append(value)


class ReplayedSearch:
    """A search adapter that was recorded, with the signature that it had."""

    def __init__(self, part: dict[str, Any], cassette: ReplayingCassette) -> None:
        self.provider_name: str = part["name"]
        if isinstance(page_size := part.get("page_size"), int):
            self.page_size = page_size
        signature = _signature(part.get("keywords"))

        def search(query: str, **keywords: Any) -> SearchAdapterResponse:
            request = search_request(query, keywords)
            options = [f"{name} {value}" for name, value in request.items() if name != "query"]
            told = f" with {', '.join(options)}" if options else ""
            what = f"search for {_shown(query)}{told}"
            return cassette.play("search", self.provider_name, request, what)  # type: ignore[no-any-return]

        async def asearch(query: str, **keywords: Any) -> SearchAdapterResponse:
            return search(query, **keywords)

        for function in (search, asearch):
            vars(function)["__signature__"] = signature
        self.search: Callable[..., SearchAdapterResponse] = search
        self.asearch = asearch


class ReplayedModel:
    """A query model that was recorded."""

    def __init__(self, name: str, cassette: ReplayingCassette) -> None:
        self.model_name = name
        self._cassette = cassette

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return or raise what the model did."""
        request = plan_request(question, purpose, count)
        what = f"plan of {count} queries for {_shown(question)} and {_shown(purpose)}"
        return self._cassette.play("plan", self.model_name, request, what)  # type: ignore[no-any-return]


class ReplayedChatModel(ReplayedModel):
    """A query model that was recorded and chats too."""

    async def chat(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[ChatTool] = ()
    ) -> ChatReply:
        """Return or raise what the model did."""
        request = chat_request(messages, tools)
        what = f"chat that ends in {_shown(messages[-1].text[-_SHOWN_CHARS:])}"
        return self._cassette.play("chat", self.model_name, request, what)  # type: ignore[no-any-return]


class ReplayedEmbedder:
    """An embedder that was recorded."""

    def __init__(self, fingerprint: str, cassette: ReplayingCassette) -> None:
        self.fingerprint = fingerprint
        self._cassette = cassette

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return or raise what the embedder did."""
        first = f", the first {_shown(texts[0])}" if texts else ""
        what = f"vectors of {len(texts)} texts{first}"
        request = embed_request(texts)
        return self._cassette.play("embed", self.fingerprint, request, what)  # type: ignore[no-any-return]


_CALLED: Final = {
    "search": "search provider",
    "model": "model",
    "embedder": "embedder",
    "ensemble": "embedder in the ensemble",
    "reranker": "reranker",
}


def _named(given: Any, attribute: str) -> str | None:
    """Return the name that the caller gave; None stands for the last recorded part."""
    name = given if isinstance(given, str) else getattr(given, attribute, None)
    return name if isinstance(name, str) else None


def _signature(keywords: Any) -> inspect.Signature:
    known = [name for name in KEYWORDS if isinstance(keywords, list) and name in keywords]
    parameters = [inspect.Parameter("query", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in known
    ]
    return inspect.Signature(parameters)


def _shown(text: str) -> str:
    return repr(redact(text, most=_SHOWN_CHARS))
