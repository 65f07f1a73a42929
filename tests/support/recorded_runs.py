"""A callback handler that keeps every run that it is told of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler

if TYPE_CHECKING:
    from uuid import UUID


@dataclass
class RecordedRun:
    kind: str
    name: str
    id: UUID
    parent_id: UUID | None
    given: Any
    metadata: dict[str, Any]
    params: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    error: BaseException | None = None
    ended: int = 0
    """How often it was told that the run has ended."""


class RunRecorder(BaseCallbackHandler):
    """Keeps the runs in the order of their start."""

    def __init__(self) -> None:
        self.runs: dict[UUID, RecordedRun] = {}

    def of(self, kind: str) -> list[RecordedRun]:
        return [run for run in self.runs.values() if run.kind == kind]

    def node(self, run: RecordedRun) -> str:
        """Return the graph's node of which the run is a child, not a grandchild."""
        parent = self.runs[run.parent_id] if run.parent_id else None
        return parent.name if parent and parent.kind == "chain" else ""

    def tree(self) -> list[tuple[str, str, str]]:
        """Return node, type and name of every run that is no chain, sorted."""
        return sorted(
            (self.node(run), run.kind, run.name)
            for run in self.runs.values()
            if run.kind != "chain"
        )

    def _start(self, kind: str, serialized: Any, given: Any, **told: Any) -> None:
        name = told.get("name") or (serialized or {}).get("name") or ""
        run_id = told["run_id"]
        self.runs[run_id] = RecordedRun(
            kind, name, run_id, told.get("parent_run_id"), given, told.get("metadata") or {},
            told.get("invocation_params") or {},
        )  # fmt: skip

    def _end(self, output: Any, run_id: UUID) -> None:
        run = self.runs[run_id]
        run.output, run.ended = output, run.ended + 1

    def _error(self, error: BaseException, run_id: UUID) -> None:
        run = self.runs[run_id]
        run.error, run.ended = error, run.ended + 1

    def on_chain_start(self, serialized: Any, inputs: Any, **told: Any) -> None:
        self._start(told.pop("run_type", None) or "chain", serialized, inputs, **told)

    def on_chat_model_start(self, serialized: Any, messages: Any, **told: Any) -> None:
        self._start("chat", serialized, messages, **told)

    def on_tool_start(self, serialized: Any, input_str: str, **told: Any) -> None:
        self._start("tool", serialized, told.get("inputs"), **told)

    def on_retriever_start(self, serialized: Any, query: str, **told: Any) -> None:
        self._start("retriever", serialized, query, **told)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(outputs, run_id)

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(response, run_id)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(output, run_id)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(documents, run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._error(error, run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._error(error, run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._error(error, run_id)


class AsyncRecorder(AsyncCallbackHandler):
    """Keeps names of starts, by coroutines."""

    def __init__(self) -> None:
        self.started: list[str] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **told: Any) -> None:
        self.started.append("chat")

    async def on_tool_start(self, serialized: Any, input_str: str, **told: Any) -> None:
        self.started.append("tool")
