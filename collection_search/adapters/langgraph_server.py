"""The reviews of a LangGraph server, over its HTTP API."""

from __future__ import annotations

import json
import logging
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import httpx
from langgraph_sdk import get_client
from pydantic import TypeAdapter, ValidationError

from ..contracts.review import GATE_NODE, Gate, ReviewRequest
from ..contracts.state import CollectionReviewOutput
from ..errors import AlreadyDecidedError, ConfigError, IngestError, InputError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from langgraph_sdk.client import LangGraphClient

    _OnEvent = Callable[[Any], None]

logger = logging.getLogger(__name__)

GRAPH: Final = "collection_review"
PAGE: Final = 100
"""Threads that one request asks for."""
_REQUEST: Final = TypeAdapter(ReviewRequest)
_REFUSALS: Final = ("InputError", "ValidationError")
"""The errors of an answer that does not fit; the second one comes from an older server."""
_UNAUTHORIZED: Final = (401, 403)
_CONFLICT: Final = 409
_KEY_HEADER: Final = "x-api-key"
"""The SDK takes it as an argument and refuses it among the headers."""


@dataclass(frozen=True, slots=True)
class AskedReview:
    """An open gate with what an answer needs."""

    gate: Gate
    interrupt_id: str
    assistant_id: str


class ServerReviews:
    """The open reviews of one server. Its methods are those of `CollectionReviewGraph`.

    Each raises ConfigError for a server that cannot be reached or that refuses the caller.
    """

    def __init__(self, address: str, *, headers: Mapping[str, str] | None = None) -> None:
        if not address.startswith(("http://", "https://")):
            raise ConfigError(
                f"{address!r} is no address of a LangGraph server: give http://HOST:PORT."
            )
        self.address = address.rstrip("/")
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}
        self._key = self._headers.pop(_KEY_HEADER, None)

    async def agates(self, *, collection: str | None = None) -> list[Gate]:
        """Return the open gates that the server shows to this caller, the oldest first."""
        async with self._client() as client:
            gates = [asked.gate async for asked in _open_gates(client)]
        gates.sort(key=lambda gate: gate.deadline)
        return [gate for gate in gates if collection in (None, gate.collection)]

    async def agate(self, gate_id: str) -> Gate:
        """Return an open gate. Raises InputError."""
        async with self._client() as client:
            return (await self._find(client, gate_id)).gate

    afind_gate = agate  # a server keeps no decided gate

    async def adecide(
        self,
        gate_id: str,
        decision: Mapping[str, Any],
        *,
        approver: str | None = None,
        on_event: _OnEvent | None = None,
    ) -> dict[str, Any]:
        """Resume the run of an open gate with a decision, and return the run's output.

        The result has the keys of `ReviewResult`. `approver` is the decision's own unless it names
        one; a server with authentication takes the user instead. Raises InputError for a decision
        that the server refuses; AlreadyDecidedError where another answer was first, and for an
        unknown gate, since a server keeps no decided one; IngestError for a run that fails
        afterwards.
        """
        answer = dict(decision)
        if approver is not None and answer.get("approver") is None:
            answer["approver"] = approver
        async with self._client() as client:
            asked = await self._find(client, gate_id)
            return await self._resume(client, asked, answer, on_event)

    async def asweep(self) -> list[Gate]:
        """Resume each run whose deadline has passed; return the gates that were decided by it.

        One that cannot be resumed is logged.
        """
        async with self._client() as client:
            overdue = [
                asked async for asked in _open_gates(client) if asked.gate.is_overdue(time.time())
            ]
        swept = []
        for asked in overdue:
            try:
                async with self._client() as client:
                    output = await self._resume(client, asked, {"status": "pending"}, None)
            except (InputError, IngestError) as error:  # somebody else is at it, or it failed
                logger.warning("the review %s was not decided: %s", asked.gate.gate_id, error)
                continue
            if (review := output["review"]) and review["gate_id"] == asked.gate.gate_id:
                swept.append(replace(asked.gate, state="decided", decision=dict(review)))
        return swept

    async def _find(self, client: LangGraphClient, gate_id: str) -> AskedReview:
        async for asked in _open_gates(client):
            if asked.gate.gate_id == gate_id:
                return asked
        raise AlreadyDecidedError(
            f"The server {self.address} has no open review {gate_id!r}: it was decided, its"
            " thread was deleted, or it is another server's or user's."
        )

    async def _resume(
        self,
        client: LangGraphClient,
        asked: AskedReview,
        answer: Mapping[str, Any],
        on_event: _OnEvent | None,
    ) -> dict[str, Any]:
        """Return the output of the resumed run."""
        thread_id, is_decided = str(asked.gate.thread_id), False
        parts = client.runs.stream(
            thread_id,
            asked.assistant_id,
            command={"resume": {asked.interrupt_id: answer}},
            stream_mode="custom",
            multitask_strategy="reject",  # else a second answer waits, and is dropped silently
            on_disconnect="continue",
            durability="sync",
        )
        async for part in parts:
            if part.event == "error":
                raise _failure(part.data, asked.gate, is_decided=is_decided)
            if part.event == "custom":
                event = part.data
                is_decided |= event["type"] == "node_finished" and event["node"] == GATE_NODE
                if on_event is not None:
                    on_event(event)
        output = _output(await client.threads.get_state(thread_id), thread_id)
        # A server ignores the answer to an interrupt that is no more: then the node does not run.
        if not is_decided and answer["status"] != "pending":
            raise AlreadyDecidedError(_describe_lost(asked.gate, output["review"]))
        return output

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[LangGraphClient]:
        try:
            async with self._connect() as client:
                yield client
        except httpx.HTTPStatusError as error:
            raise self._refusal(error) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConfigError(
                f"The LangGraph server {self.address} cannot be reached"
                f" ({type(error).__name__}): check the address and whether it runs."
            ) from error
        except json.JSONDecodeError as error:
            raise ConfigError(
                f"{self.address} does not answer as a LangGraph server does: check the address."
            ) from error

    def _connect(self) -> LangGraphClient:
        return get_client(url=self.address, api_key=self._key, headers=self._headers)

    def _refusal(self, error: httpx.HTTPStatusError) -> InputError | ConfigError:
        status = error.response.status_code
        if status in _UNAUTHORIZED:
            return ConfigError(
                f"The server {self.address} does not accept this caller (HTTP {status}): set"
                " COLLECTION_SEARCH_SERVER_TOKEN, or give the header that it expects by --header."
            )
        if status == _CONFLICT:
            return AlreadyDecidedError(
                "Another answer to this review is being processed (HTTP 409), so yours was not"
                " used. List the reviews again to see what was decided."
            )
        said = getattr(error, "message", None) or error.response.reason_phrase
        return InputError(f"The server {self.address} refused it (HTTP {status}): {said}")


async def _open_gates(client: LangGraphClient) -> AsyncIterator[AskedReview]:
    """Yield the gates of all threads that wait for a person.

    After a decision that was refused a thread counts as failed, and only its state says that it
    waits on.
    """
    async for thread in _threads(client, status="interrupted"):
        waiting = [one for task in thread["interrupts"].values() for one in task]
        for asked in _asked(thread, waiting):
            yield asked
    async for thread in _threads(client, status="error", metadata={"graph_id": GRAPH}):
        for asked in await list_asked(client, thread):
            yield asked


async def list_asked(client: LangGraphClient, thread: Any) -> list[AskedReview]:
    """Return the reviews at which a thread waits, by its state."""
    return _asked(thread, await _pending(client, thread["thread_id"]))


async def _pending(client: LangGraphClient, thread_id: str) -> list[Any]:
    """Return the interrupts of a failed thread; none where its input was not valid."""
    try:
        return _interrupts(await client.threads.get_state(thread_id))
    except httpx.HTTPStatusError as error:
        if error.response.status_code in _UNAUTHORIZED:
            raise
        return []  # such a thread has no state that the server can read


async def _threads(client: LangGraphClient, **wanted: Any) -> AsyncIterator[Any]:
    offset = 0
    while True:
        page = await client.threads.search(limit=PAGE, offset=offset, **wanted)
        for thread in page:
            yield thread
        if len(page) < PAGE:
            return
        offset += PAGE


def _asked(thread: Mapping[str, Any], interrupts: list[Any]) -> list[AskedReview]:
    """Return the reviews among the interrupts of a thread."""
    about = thread["metadata"] or {}
    assistant = about.get("assistant_id") or about.get("graph_id") or GRAPH
    return [
        AskedReview(_gate(request, thread["thread_id"]), one["id"], assistant)
        for one in interrupts
        if (request := _request(one["value"])) is not None
    ]


def _request(value: Any) -> ReviewRequest | None:
    """Return what is asked, or None where the interrupt is not one of ours."""
    try:
        return _REQUEST.validate_python(value)
    except ValidationError:
        return None


def _gate(request: ReviewRequest, thread_id: str) -> Gate:
    return Gate(
        gate_id=request["gate_id"],
        tenant_id="",
        collection=request["collection"],
        question=request["question"],
        round=request["round"],
        host="server",
        thread_id=thread_id,
        run_id="",
        trace_id="",
        candidates=request["candidates"],
        threshold=request["threshold"],
        threshold_reason=request.get("threshold_reason"),
        deadline=datetime.fromisoformat(request["deadline"]).timestamp(),
        policy=request["deadline_policy"],
    )


def _interrupts(state: Any) -> list[Any]:
    return [one for task in state["tasks"] for one in task["interrupts"]]


def _output(state: Any, thread_id: str) -> dict[str, Any]:
    values = state["values"]
    output = {key: values.get(key) for key in CollectionReviewOutput.__annotations__}
    requests = (_request(one["value"]) for one in _interrupts(state))
    request = next((one for one in requests if one is not None), None)
    return {**output, "thread_id": thread_id, "request": request}


def _failure(said: Any, gate: Gate, *, is_decided: bool) -> InputError | IngestError:
    """Return the error of a run that the server ended."""
    kind, message = said.get("error", "Error"), said.get("message", "")
    if kind in _REFUSALS and not is_decided:
        return InputError(
            f"The server refused the decision, and the review {gate.gate_id} stays open: {message}"
        )
    return IngestError(
        f"The run of {gate.gate_id} failed on the server, whose log says more: {kind}: {message}"
    )


def _describe_lost(gate: Gate, review: Mapping[str, Any] | None) -> str:
    decided = ""
    if review and review["gate_id"] == gate.gate_id:
        by = review["approver"] or ("a person" if review["decided_by"] == "person" else "deadline")
        decided = f": {review['status']} by {by} at {review['decided_at']}"
    return f"Another answer to the review {gate.gate_id} was first{decided}. Yours was not used."
