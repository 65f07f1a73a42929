"""LangChain's callback handlers as listeners of a run.

They are those that the caller attached: LangSmith, `astream_events`, LangGraph's `messages` stream,
a counter of tokens. They see what the caller's own run sees, but for secrets.
"""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack, asynccontextmanager, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables.config import patch_config, var_child_runnable_config

from ...text.clean import to_unicode
from ...text.redaction import error_message, mask, mask_text, redact_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
    from contextvars import ContextVar

    from langchain_core.messages import BaseMessage
    from langchain_core.messages.ai import UsageMetadata
    from langchain_core.runnables import RunnableConfig

T = TypeVar("T")

EMBEDDING: Final = "embedding"
"""Name and type of an embedder's run."""

_NO_STREAM: Final = "nostream"
"""LangGraph's tag of runs that its stream `messages` leaves out."""

logger = logging.getLogger(__name__)
_failed: Final[set[type]] = set()
"""Classes of errors of handlers that were logged in this process."""


@dataclass(slots=True)
class _Tool:
    output: Any = None
    failure: RuntimeError | None = None

    def returned(self, output: Any) -> None:
        self.output = _shown(output)

    def failed(self, kind: str, message: str) -> None:
        self.failure = RuntimeError(mask_text(f"{kind}: {message}", personal=False))


@dataclass(slots=True)
class _Chat:
    message: AIMessage | None = None

    def answered(
        self, text: str, *, model: str, input_tokens: int | None, output_tokens: int | None
    ) -> None:
        self.message = AIMessage(
            _shown(text),
            usage_metadata=_usage(input_tokens, output_tokens),
            response_metadata={"model_name": model},
        )


@dataclass(slots=True)
class _Embedding:
    output: dict[str, Any] | None = None

    def embedded(self, *, count: int, dimension: int, input_tokens: int | None) -> None:
        self.output = {
            "count": count,
            "dimension": dimension,
            "usage_metadata": _usage(input_tokens, 0 if input_tokens is not None else None),
        }


class CallbackListener:
    """The callback handlers of one node's run: its calls become runs below the node's."""

    def __init__(self, config: RunnableConfig) -> None:
        self._config = config

    @asynccontextmanager
    async def tool(self, name: str, inputs: Mapping[str, Any]) -> AsyncIterator[_Tool]:
        """Tell of a tool run; runs of LangChain objects inside the block stand below it."""
        call, given = _Tool(), _shown(inputs)
        started = self._manager().on_tool_start({"name": name}, json.dumps(given), inputs=given)
        run = await _told(started)
        with _config_below(self._config, run.get_child() if run else None):
            try:
                yield call
            except BaseException as error:
                await _told(run.on_tool_error(_redacted(error)) if run else None)
                raise
        if call.failure is not None:
            await _told(run.on_tool_error(call.failure) if run else None)
        else:
            await _told(run.on_tool_end(call.output, name=name) if run else None)

    @asynccontextmanager
    async def chat(
        self, model: str, messages: Sequence[tuple[str, str]], *, is_draft: bool = False
    ) -> AsyncIterator[_Chat]:
        """Tell of a chat-model run; the model's own runs are told to its own handlers alone."""
        call, tags = _Chat(), [_NO_STREAM] if is_draft else []
        manager = self._manager(tags, ls_model_type="chat", ls_model_name=model)
        started = manager.on_chat_model_start(
            {"name": model},
            [[_message(role, text) for role, text in messages]],
            invocation_params={"model": model},
            name=model,
        )
        run = next(iter(await _told(started) or ()), None)
        try:
            with _unheard(self._config):
                yield call
        except BaseException as error:
            await _told(run.on_llm_error(_redacted(error), response=_result(None)) if run else None)
            raise
        await _told(run.on_llm_end(_result(call.message)) if run else None)

    @asynccontextmanager
    async def embedding(self, model: str, count: int) -> AsyncIterator[_Embedding]:
        """Tell of a run of type `embedding`."""
        call, given = _Embedding(), {"model": model, "count": count}
        manager = self._manager(ls_model_type=EMBEDDING, ls_model_name=model)
        started = manager.on_chain_start(
            {"name": EMBEDDING}, given, name=EMBEDDING, run_type=EMBEDDING
        )
        run = await _told(started)
        try:
            yield call
        except BaseException as error:
            await _told(run.on_chain_error(_redacted(error)) if run else None)
            raise
        await _told(run.on_chain_end(call.output) if run else None)

    def _manager(self, tags: Sequence[str] = (), **metadata: str) -> AsyncCallbackManager:
        return AsyncCallbackManager.configure(
            inheritable_callbacks=self._config.get("callbacks"),
            inheritable_tags=self._config.get("tags"),
            local_tags=list(tags),
            inheritable_metadata=self._config.get("metadata"),
            local_metadata=metadata,
        )


async def _told(call: Awaitable[T] | None) -> T | None:
    """Return the result of telling the handlers; a handler that raises does not fail the call."""
    if call is None:
        return None
    try:
        return await call
    except Exception as error:  # noqa: BLE001 - any failure of a handler ends here
        if type(error) not in _failed:
            _failed.add(type(error))
            cause = error_message(error)
            logger.warning("A callback handler failed (%s). The run goes on.", cause)
        return None


@contextmanager
def _config_below(config: RunnableConfig, callbacks: AsyncCallbackManager | None) -> Iterator[None]:
    """Let calls of LangChain objects find these callbacks in the context."""
    token = var_child_runnable_config.set(patch_config(config, callbacks=callbacks))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


@contextmanager
def _unheard(config: RunnableConfig) -> Iterator[None]:
    """Let no handler of the context hear of calls of LangChain objects.

    They are in the config, in variables of their own (`get_usage_metadata_callback`), or follow
    from LangSmith's environment. An object's own handlers are not affected.
    """
    from langsmith.run_helpers import tracing_context

    silent: RunnableConfig = {**config, "callbacks": None}
    handlers: dict[ContextVar[Any], Any] = {
        variable: value
        for variable, value in copy_context().items()
        if isinstance(value, BaseCallbackHandler)
    }
    with ExitStack() as restored, tracing_context(enabled=False):
        for variable in handlers:
            restored.callback(variable.reset, variable.set(None))
        restored.callback(var_child_runnable_config.reset, var_child_runnable_config.set(silent))
        yield


def _message(role: str, text: str) -> BaseMessage:
    if role == "tool":
        return ToolMessage(_shown(text), tool_call_id="")
    kinds: dict[str, type[BaseMessage]] = {"system": SystemMessage, "assistant": AIMessage}
    return kinds.get(role, HumanMessage)(_shown(text))


def _result(message: AIMessage | None) -> LLMResult:
    if message is None:
        return LLMResult(generations=[])
    usage = message.usage_metadata
    told: dict[str, Any] = {"model_name": message.response_metadata["model_name"]}
    if usage is not None:
        told["token_usage"] = dict(usage)
    return LLMResult(generations=[[ChatGeneration(message=message)]], llm_output=told)


def _usage(input_tokens: int | None, output_tokens: int | None) -> UsageMetadata | None:
    if input_tokens is None and output_tokens is None:
        return None
    given, made = input_tokens or 0, output_tokens or 0
    return {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}


def _shown(value: Any) -> Any:
    """Return a JSON-plain value as handlers see it: without secrets, valid in any encoding."""
    if isinstance(value, str):
        return mask_text(to_unicode(value), personal=False)
    return mask(json.loads(to_unicode(json.dumps(value, ensure_ascii=False))), personal=False)


def _redacted(error: BaseException) -> BaseException:
    return redact_error(error) if isinstance(error, Exception) else error
