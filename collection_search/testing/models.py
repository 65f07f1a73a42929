"""Chat models that answer by script, for tests of graphs, of query planning and of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from ..errors import ModelError
from ..ports import ChatReply, ChatToolCall, QueryPlan
from .openai_protocol import ScriptedToolCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.runnables import Runnable

    from ..ports import ChatMessage, ChatTool


class ScriptedChatModel(BaseChatModel):
    """A LangChain chat model that gives its `replies` in order and repeats the last one.

    A mapping is the arguments of a call of the first tool, `ScriptedToolCalls` calls any, a text is
    plain content, an exception is raised. Synchronous, as many third-party models are.
    """

    replies: list[Any]
    refuses: frozenset[str] = frozenset()
    """Methods of structured output that this model does not support."""
    usage: tuple[int, int] | None = (29, 44)
    """Input and output tokens that each answer reports, None for a model that reports none."""
    model_name: str = "scripted"

    methods: list[str] = Field(default_factory=list)
    """Methods of structured output that were asked for, refused ones included."""
    calls: list[list[BaseMessage]] = Field(default_factory=list)
    """The messages of every call."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with the tools that its answers may call."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(
        self, schema: Any, *, method: str = "json_schema", **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Return this model with a parser. Raises NotImplementedError for what it `refuses`."""
        self.methods.append(method)
        if method in self.refuses:
            raise NotImplementedError(f"{method} is not supported")
        return super().with_structured_output(schema, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the signature is given
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        self.calls.append(messages)
        reply = self.replies[min(len(self.calls), len(self.replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, ScriptedToolCalls):
            message = _tool_calls(reply)
        else:
            message = _tool_call(reply, kwargs["tools"]) if "tools" in kwargs else AIMessage(reply)
        message.usage_metadata = _usage(self.usage)
        return ChatResult(generations=[ChatGeneration(message=message)])


class ScriptedQueryModel:
    """A `QueryModel` without LangChain: queries or exceptions in order, the last one repeated."""

    def __init__(
        self,
        *replies: Sequence[str] | Exception,
        model_name: str = "scripted",
        usage: tuple[int, int] | None = (29, 44),
    ) -> None:
        self.model_name = model_name
        self._replies = replies
        self._usage = usage or (None, None)
        self.calls: list[tuple[str, str, int]] = []
        """Question, purpose and count of every call."""

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return or raise the next reply."""
        self.calls.append((question, purpose, count))
        reply = self._replies[min(len(self.calls), len(self._replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return QueryPlan(reply, self.model_name, *self._usage)


class ScriptedAnswerModel:
    """A `ChatModel` without LangChain: replies or exceptions in order, the last one repeated.

    A reply is a text, `ScriptedToolCalls`, a `ChatReply` as it is, or a function of messages and
    tools that returns one of them. It plans no queries.
    """

    def __init__(
        self,
        *replies: str
        | ScriptedToolCalls
        | ChatReply
        | Exception
        | Callable[
            [Sequence[ChatMessage], Sequence[ChatTool]], str | ScriptedToolCalls | ChatReply
        ],
        model_name: str = "scripted",
        usage: tuple[int, int] | None = (29, 44),
    ) -> None:
        self.model_name = model_name
        self._replies = replies
        self._usage = usage or (None, None)
        self.chats: list[list[ChatMessage]] = []
        """The messages of every call."""
        self.tools: list[list[str]] = []
        """The names of the tools of every call."""

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:  # noqa: ARG002
        """Raise ModelError: this model only chats."""
        raise ModelError("ScriptedAnswerModel plans no queries.", may_be_billed=False)

    async def chat(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[ChatTool] = ()
    ) -> ChatReply:
        """Return or raise the next reply."""
        self.chats.append(list(messages))
        self.tools.append([tool.name for tool in tools])
        reply = self._replies[min(len(self.chats), len(self._replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        said = reply(messages, tools) if callable(reply) else reply
        if isinstance(said, ChatReply):
            return said
        if isinstance(said, str):
            return ChatReply(said, (), self.model_name, *self._usage)
        calls = tuple(
            ChatToolCall(call_id, name, given if isinstance(given, str) else dict(given))
            for call_id, name, given in said.named()
        )
        return ChatReply(said.text, calls, self.model_name, *self._usage)


def _tool_call(reply: Any, tools: Sequence[dict[str, Any]]) -> AIMessage:
    if isinstance(reply, str):
        return AIMessage(reply)
    name = tools[0]["function"]["name"]
    return AIMessage("", tool_calls=[{"name": name, "args": dict(reply), "id": "call_1"}])


def _tool_calls(reply: ScriptedToolCalls) -> AIMessage:
    valid: list[Any] = []
    invalid: list[Any] = []
    for call_id, name, given in reply.named():
        told = {"id": call_id, "name": name}
        if isinstance(given, str):
            invalid.append({**told, "args": given, "error": None, "type": "invalid_tool_call"})
        else:
            valid.append({**told, "args": dict(given)})
    return AIMessage(reply.text, tool_calls=valid, invalid_tool_calls=invalid)


def _usage(usage: tuple[int, int] | None) -> UsageMetadata | None:
    if usage is None:
        return None
    given, made = usage
    return UsageMetadata(input_tokens=given, output_tokens=made, total_tokens=given + made)
