"""A model that follows a script, for `--offline` and for tests.

It calls the tools that the script names. Its answer cites URLs that it has seen in their results.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from citations import urls_in
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

CITE = object()
"""The step that answers with the URLs that were seen."""


class Call(NamedTuple):
    """The step that calls a tool."""

    name: str
    arguments: dict[str, Any]


class Script:
    """The steps of a model in order: calls, texts and `CITE`."""

    def __init__(self, *steps: Call | str | object) -> None:
        self._steps = deque(steps)

    def next(self, seen: str) -> Call | str:
        """Return the next step of a model that has seen this text."""
        step = self._steps.popleft()
        if step is CITE:
            sources = " and ".join(f"<{url}>" for url in urls_in(seen)[:2])
            return f"This is described at {sources}." if sources else "Nothing was found."
        return step if isinstance(step, Call) else str(step)


class ScriptedModel(BaseChatModel):
    """The script as a LangChain chat model."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:  # noqa: ARG002
        """Return the model: it knows the tools from its script."""
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        step = self.script.next("\n".join(str(message.content) for message in messages))
        if isinstance(step, Call):
            calls = [{"name": step.name, "args": step.arguments, "id": f"call_{len(messages)}"}]
            message = AIMessage("", tool_calls=calls)
        else:
            message = AIMessage(step)
        return ChatResult(generations=[ChatGeneration(message=message)])
