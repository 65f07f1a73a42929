"""One answer of a LangChain model by one method of structured output."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from langchain_core.exceptions import OutputParserException
from pydantic import ValidationError

from ...planning.prompts import SearchQueries
from ..refusals import http_status_of
from .chat_messages import message_of, stop_of, text_of
from .endpoint import tokens_of
from .output_methods import UNKNOWN, Tokens, UnreadableAnswerError, refuses_method
from .stop_reasons import Declined, Filtered, is_filter, raise_if_stopped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .output_methods import OutputMethod

_REASONS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Names of the reason to stop: of OpenAI and Google, Anthropic, Bedrock, Ollama."""


class MethodRefusedError(Exception):
    """The model or its endpoint lacks the method; `is_billed` if it answered all the same."""

    def __init__(self, message: str, *, is_billed: bool = False) -> None:
        super().__init__(message)
        self.is_billed = is_billed


@dataclass(frozen=True, slots=True)
class StructuredAnswer:
    """An answer with its cost."""

    content: Any
    """The parsed object, else the text."""
    tokens: Tokens
    model: str = ""
    """By its own name; empty where it does not say."""
    stop: Any = None
    """Why it ended."""
    is_of_library: bool = False
    """True where the vendor's library refused to read it: the endpoint ignored the method."""
    stopped: Declined | Filtered | None = None
    """A refusal or a filter in place of an answer."""


async def ask_by_method(
    model: Any, messages: list[tuple[str, str]], method: OutputMethod
) -> StructuredAnswer:
    """Return one answer. Raises MethodRefusedError, and what the model does."""
    if method == "prompt":
        return _read(await model.ainvoke(messages), parsed=None)
    try:
        structured: Any = model.with_structured_output(
            SearchQueries, method=method, include_raw=True
        )
    except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
        raise MethodRefusedError(_said(error)) from error
    try:
        answer = await structured.ainvoke(messages)
    except Exception as error:  # noqa: BLE001 - raised again unless it holds an answer
        return _answer_in(error)
    if isinstance(answer, dict) and "raw" in answer:
        return _read(answer["raw"], parsed=answer.get("parsed"))
    return _read(answer, parsed=None)


def usage_of(message: Any) -> Tokens:
    """Return the tokens that a LangChain message reports."""
    usage = getattr(message, "usage_metadata", None)
    return Tokens(usage["input_tokens"], usage["output_tokens"]) if usage else UNKNOWN


def name_of_model(message: Any) -> str:
    """Return the name that the model gives itself in its message, else an empty one."""
    named = _metadata(message).get("model_name")
    return named if isinstance(named, str) else ""


def reason_to_stop(message: Any) -> Any:
    """Return why a LangChain message ended, None where it does not say."""
    told = _metadata(message)
    return next((told[name] for name in _REASONS if told.get(name)), None)


def raise_if_message_stopped(message: Any) -> None:
    """Raise Declined or Filtered where the message is a refusal or was stopped by a filter."""
    told = _metadata(message)
    refusal = getattr(message, "additional_kwargs", {}).get("refusal")
    raise_if_stopped(reason_to_stop(message), refusal)
    feedback = told.get("prompt_feedback")
    if isinstance(feedback, dict) and (blocked := feedback.get("block_reason")):
        raise Filtered(f"it blocked the question with {blocked!r}")  # Google's


def _read(message: Any, *, parsed: Any) -> StructuredAnswer:
    """Return the answer in a message, in a plain text, or in an object of another kind."""
    stopped = None
    if parsed is None and not isinstance(message, str) and not hasattr(message, "text"):
        parsed = message
    try:
        raise_if_message_stopped(message)
    except (Declined, Filtered) as error:
        stopped = error
    text = message if isinstance(message, str) else str(getattr(message, "text", ""))
    return StructuredAnswer(
        # the JSON may stand in a code fence or in the text beside no tool call
        content=text if parsed is None else parsed,
        tokens=usage_of(message),
        model=name_of_model(message),
        stop=reason_to_stop(message),
        stopped=stopped,
    )


def _answer_in(error: Exception) -> StructuredAnswer:
    """Return the answer that a library could not read. Raises MethodRefusedError, or the error."""
    if (answer := _completion_of(error)) is not None:
        return _read_completion(answer)
    if isinstance(error, ValidationError):
        if error.errors()[0]["type"] == "json_invalid":
            raise MethodRefusedError("", is_billed=True) from error
        raise UnreadableAnswerError(str(error)) from error
    if isinstance(error, OutputParserException):
        raise UnreadableAnswerError(str(error)) from error
    lacks_it = isinstance(error, NotImplementedError)
    if lacks_it or (refuses_method(http_status_of(error), str(error)) and not is_filter(error)):
        raise MethodRefusedError(_said(error)) from error
    raise error


def _read_completion(answer: dict[str, Any]) -> StructuredAnswer:
    """Return the answer in a chat completion. Raises UnreadableAnswerError without a message."""
    content, stopped = "", None
    try:
        content = text_of(message_of(answer))
    except (Declined, Filtered) as error:
        stopped = error
    except ValueError as error:
        raise UnreadableAnswerError(str(error)) from error
    return StructuredAnswer(
        content=content,
        tokens=tokens_of(answer),
        model=str(answer.get("model") or ""),
        stop=stop_of(answer),
        is_of_library=True,
        stopped=stopped,
    )


def _completion_of(error: Exception) -> dict[str, Any] | None:
    """Return the chat completion that an error carries, as those of langchain-openai do."""
    response = getattr(error, "response", None)
    if getattr(response, "status_code", None) != HTTPStatus.OK:
        return None
    try:
        answer = response.json()  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        return None
    return answer if isinstance(answer, dict) and answer.get("choices") else None


def _said(error: Exception) -> str:
    """Return what a refusal says; nothing where only this program's methods are not built."""
    return "" if isinstance(error, AttributeError) else str(error)


def _metadata(message: Any) -> Mapping[str, Any]:
    told = getattr(message, "response_metadata", None)
    return told if isinstance(told, dict) else {}
