"""The port of chat models, over the loopback endpoint, LangChain's client of it, and doubles."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI

from collection_search import Settings
from collection_search.adapters.models.langchain import LangChainQueryModel
from collection_search.adapters.models.openai import OpenAIQueryModel
from collection_search.errors import ModelError
from collection_search.ports import ChatMessage, ChatModel, ChatTool, ChatToolCall
from collection_search.testing import (
    OpenAIServer,
    ScriptedAnswerModel,
    ScriptedChatModel,
    ScriptedToolCalls,
)
from collection_search.testing.openai_server import (
    KEY_REFUSED,
    SERVER_ERROR,
    OpenAIFailure,
    RawReply,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sk-of-the-test-0123456789"
SEARCH = ChatTool(
    "web_search",
    "Search the web.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
QUESTION = [ChatMessage("system", "Be brief."), ChatMessage("user", "Is tea hot? \ud800")]
CALLS = ScriptedToolCalls(("web_search", {"query": "tea"}), ("web_search", {"query": "täa"}))
READ = (
    ChatToolCall("call_1", "web_search", {"query": "tea"}),
    ChatToolCall("call_2", "web_search", {"query": "täa"}),
)
AFTER_CALLS = [
    *QUESTION,
    ChatMessage("assistant", "", READ),
    ChatMessage("tool", "Tea is hot.", call_id="call_1"),
    ChatMessage("tool", "Error: no results", call_id="call_2"),
]


@contextmanager
def endpoint(*replies: Any) -> Iterator[tuple[ChatModel, OpenAIServer]]:
    with OpenAIServer(*replies) as server:
        settings = Settings(openai_api_key=KEY, openai_base_url=server.base_url)
        yield OpenAIQueryModel.from_settings(settings, model="gpt-4o-mini"), server


@contextmanager
def langchain_client(*replies: Any) -> Iterator[tuple[ChatModel, OpenAIServer]]:
    with OpenAIServer(*replies) as server:
        client = ChatOpenAI(
            model="gpt-4o-mini", api_key=KEY, base_url=server.base_url, max_retries=0
        )
        yield LangChainQueryModel(client), server


@contextmanager
def langchain_double(*replies: Any) -> Iterator[tuple[ChatModel, None]]:
    yield LangChainQueryModel(ScriptedChatModel(replies=list(replies))), None


@contextmanager
def own_double(*replies: Any) -> Iterator[tuple[ChatModel, None]]:
    yield ScriptedAnswerModel(*replies), None


OVER_THE_WIRE = [endpoint, langchain_client]
EVERY = [*OVER_THE_WIRE, langchain_double, own_double]


@pytest.mark.parametrize("made", EVERY)
async def test_a_text_comes_back_with_its_tokens(made: Any) -> None:
    """Without tools a reply is a text."""
    with made("Yes, it is.") as (model, _):
        assert isinstance(model, ChatModel)
        reply = await model.chat(QUESTION)
    assert (reply.text, reply.tool_calls) == ("Yes, it is.", ())
    assert reply.model in ("gpt-4o-mini", "scripted")
    assert (reply.input_tokens, reply.output_tokens) == (29, 44)


@pytest.mark.parametrize("made", EVERY)
async def test_calls_of_tools_come_back(made: Any) -> None:
    """Several at once, with ids, names and arguments."""
    with made(CALLS) as (model, _):
        reply = await model.chat(QUESTION, tools=[SEARCH])
    assert (reply.text, reply.tool_calls) == ("", READ)


@pytest.mark.parametrize("made", EVERY)
async def test_arguments_that_are_no_json_stay_as_they_are(made: Any) -> None:
    """Who calls the tool tells the model; the run goes on."""
    with made(ScriptedToolCalls(("web_search", "tea, please"))) as (model, _):
        reply = await model.chat(QUESTION, tools=[SEARCH])
    assert reply.tool_calls == (ChatToolCall("call_1", "web_search", "tea, please"),)


@pytest.mark.parametrize("made", OVER_THE_WIRE)
async def test_the_conversation_goes_on_after_the_tools(made: Any) -> None:
    """Calls and results reach the endpoint in its own form."""
    with made("Yes, it is.") as (model, server):
        await model.chat(AFTER_CALLS, tools=[SEARCH])
    body = server.requests[0].body
    system, user, assistant, *results = body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"] == "Is tea hot? ?"
    called = [(one["id"], one["function"]["name"]) for one in assistant["tool_calls"]]
    assert called == [("call_1", "web_search"), ("call_2", "web_search")]
    assert json.loads(assistant["tool_calls"][1]["function"]["arguments"]) == {"query": "täa"}
    assert [(one["role"], one["tool_call_id"], one["content"]) for one in results] == [
        ("tool", "call_1", "Tea is hot."),
        ("tool", "call_2", "Error: no results"),
    ]
    assert body["tools"][0]["function"]["name"] == "web_search"
    assert body["tools"][0]["function"]["parameters"]["required"] == ["query"]


@pytest.mark.parametrize("made", OVER_THE_WIRE)
@pytest.mark.parametrize(
    ("failure", "told", "billed"),
    [
        (KEY_REFUSED, "refused the key", False),
        (SERVER_ERROR, "failed on its own side", False),
        ("", "The answer is empty", True),
        ("<think>Tea</think>", "The answer is empty", True),
    ],
)
async def test_a_failure_is_one_error_and_one_request(
    made: Any, failure: Any, told: str, billed: bool
) -> None:
    """As of a plan: the caller falls back, nobody retries."""
    with made(failure) as (model, server):
        with pytest.raises(ModelError, match=told) as caught:
            await model.chat(QUESTION)
        assert len(server.requests) == 1
    assert caught.value.may_be_billed is billed


@pytest.mark.parametrize("made", OVER_THE_WIRE)
@pytest.mark.parametrize(("reason", "cut_off"), [("length", True), ("stop", False)])
async def test_a_text_that_was_cut_off_says_so(made: Any, reason: str, cut_off: bool) -> None:
    """It comes back as far as it goes."""
    message = {"role": "assistant", "content": "Tea is"}
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    told = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    with made(RawReply.json(told)) as (model, _):
        reply = await model.chat(QUESTION)
    assert (reply.text, reply.cut_off) == ("Tea is", cut_off)


@pytest.mark.parametrize(
    "metadata",
    [{"finish_reason": "length"}, {"stop_reason": "max_tokens"}, {"finish_reason": "MAX_TOKENS"}],
    ids=["openai", "anthropic", "google"],
)
async def test_other_vendors_texts_that_were_cut_off_say_so(metadata: dict[str, str]) -> None:
    """By the names that their LangChain packages give the reason."""

    class Stopped(ScriptedChatModel):
        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            reply = AIMessage("Tea is", response_metadata=metadata)
            return ChatResult(generations=[ChatGeneration(message=reply)])

    reply = await LangChainQueryModel(Stopped(replies=[])).chat(QUESTION)
    assert (reply.text, reply.cut_off) == ("Tea is", True)


async def test_thoughts_are_no_part_of_the_text() -> None:
    """Some endpoints leave them in it."""
    with endpoint("<think>Hm [9].</think>Yes.") as (model, _):
        assert (await model.chat(QUESTION)).text == "Yes."


async def test_a_model_that_refuses_a_temperature_is_asked_without() -> None:
    """Once: the next request knows it."""
    refusal = OpenAIFailure(400, "Unsupported value: 'temperature' does not support 0.0.")
    with endpoint(refusal, "Yes.") as (model, server):
        assert (await model.chat(QUESTION)).text == "Yes."
        await model.chat(QUESTION)
        assert ["temperature" in one.body for one in server.requests] == [True, False, False]


async def test_a_reply_after_the_time_limit_is_a_failure() -> None:
    """The limit is that of the settings."""
    with OpenAIServer("Yes.", latency_s=30) as server:
        settings = Settings(
            openai_api_key=KEY, openai_base_url=server.base_url, model_timeout_s=0.05
        )
        model = OpenAIQueryModel.from_settings(settings, model="gpt-4o-mini")
        with pytest.raises(ModelError, match="did not answer within"):
            await model.chat(QUESTION)
