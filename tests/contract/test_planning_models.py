"""Models and endpoints of every kind plan queries, and a failure of any of them has its cause."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from support.planning import ANSWER, FENCED, KEY, METHODS, QUERIES, plan

from collection_search import SearchContext, Settings
from collection_search.adapters.models.langchain import LangChainQueryModel
from collection_search.adapters.models.openai import OpenAIQueryModel
from collection_search.errors import ModelError
from collection_search.testing import ScriptedChatModel
from collection_search.testing.openai_server import OpenAIFailure, OpenAIServer, RawReply

PROSE = f"Here are three queries, as you asked: {json.dumps(ANSWER)} Good luck!"
LISTED = "Sure:\n\n" + "\n".join(f"{n}. **{text}**" for n, text in enumerate(QUERIES, start=1))
EVERY_METHOD = frozenset(METHODS)


def endpoint(server: OpenAIServer) -> OpenAIQueryModel:
    return OpenAIQueryModel("m", api_key=SecretStr(KEY), base_url=server.base_url)


def chat_openai(server: OpenAIServer) -> LangChainQueryModel:
    return LangChainQueryModel(
        ChatOpenAI(model="m", api_key=KEY, base_url=server.base_url, max_retries=0)
    )


OVER_THE_WIRE = pytest.mark.parametrize("made", [endpoint, chat_openai])


@OVER_THE_WIRE
@pytest.mark.parametrize(
    "text",
    [
        FENCED,
        PROSE,
        LISTED,
        json.dumps(QUERIES),
        json.dumps(ANSWER).replace("]", ",]"),
        f'{{"question": "q", "purpose": "p"}}\n{json.dumps(ANSWER)}',
        json.dumps({"answer": ANSWER}),
        f'Like {{"queries": ["...", "..."]}} I say {json.dumps(ANSWER)}',
        "\n".join(f"- {text}" for text in QUERIES),
    ],
)
async def test_an_endpoint_without_tools_and_response_format_plans(made: Any, text: str) -> None:
    """The words of the prompt ask for JSON; what comes is read in many forms, and paid once."""
    with OpenAIServer(text, refuses=EVERY_METHOD) as server:
        planned = await plan(made(server))
    assert (planned.queries, planned.input_tokens, planned.output_tokens) == (QUERIES, 29, 44)
    assert [each.method for each in server.requests] == [*METHODS, None]


@OVER_THE_WIRE
@pytest.mark.parametrize("text", [FENCED, PROSE])
async def test_json_inside_of_prose_is_one_request(made: Any, text: str) -> None:
    """It is not paid for a second time."""
    with OpenAIServer(text) as server:
        planned = await plan(made(server))
    assert (planned.queries, planned.input_tokens, len(server.requests)) == (QUERIES, 29, 1)


@OVER_THE_WIRE
@pytest.mark.parametrize(
    "refusal",
    [
        OpenAIFailure(400, "output_format: Extra inputs are not permitted"),
        OpenAIFailure(400, "Unrecognized request argument supplied: response_format"),
        OpenAIFailure(422, "body.x: extra fields not permitted"),
        OpenAIFailure(404, "No endpoints found that can handle the requested parameters."),
        OpenAIFailure(500, "tools param requires --jinja flag"),
        OpenAIFailure(501, "Not implemented"),
        OpenAIFailure(400, "Function calling is not enabled for models/gemma-3-1b-it"),
        OpenAIFailure(400, "JSON mode is not enabled for models/gemma-3-1b-it"),
    ],
    ids=lambda refusal: refusal.message,
)
async def test_refusals_in_many_words_lead_to_the_next_method(made: Any, refusal: Any) -> None:
    """Whatever the endpoint calls what it lacks."""
    with OpenAIServer(refusal, refusal, refusal, PROSE) as server:
        assert (await plan(made(server))).queries == QUERIES
    assert len(server.requests) == 4


class PlainModel(FakeListChatModel):
    """A model of `_generate` alone: LangChain's own `with_structured_output` refuses it."""


class NoSchemaModel(ScriptedChatModel):
    """As ChatAnthropic before an endpoint that knows no schema option."""

    def with_structured_output(self, schema: Any, *, method: str = "x", **options: Any) -> Any:
        if method == "json_mode":
            raise ValueError("Unrecognized structured output method 'json_mode'.")
        self.methods.append(method)
        if method != "json_schema":
            return super().with_structured_output(schema, method=method, **options)

        def refuse(_: Any) -> Any:
            import anthropic
            import httpx

            message = "output_config.format: Extra inputs are not permitted"
            request = httpx.Request("POST", "https://anthropic.example/v1/messages")
            raise anthropic.BadRequestError(
                message, response=httpx.Response(400, request=request), body=None
            )

        return RunnableLambda(refuse)


@pytest.mark.parametrize(
    "model",
    [
        PlainModel(responses=[PROSE]),
        FakeListChatModel(responses=[LISTED]),
        NoSchemaModel(replies=[ANSWER]),
        RunnableLambda(lambda _: PROSE),
        RunnableLambda(lambda _: AIMessage(PROSE)),
        RunnableLambda(lambda _: ANSWER),
    ],
    ids=["generate alone", "list", "anthropic", "text", "message", "object"],
)
async def test_a_live_object_of_any_kind_plans(model: Any, settings: Settings) -> None:
    """The context takes it as it is."""
    wrapped = await SearchContext(settings=settings, model=model).query_model()
    assert (await plan(wrapped)).queries == QUERIES


# Failures


async def told(model: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await plan(model)
    assert caught.value.__cause__ is not None
    return caught.value


def message(finish: str, content: str | None = None, **fields: Any) -> RawReply:
    choice = {"index": 0, "message": {"role": "assistant", "content": content} | fields}
    usage = {"prompt_tokens": 29, "completion_tokens": 44, "total_tokens": 73}
    envelope = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return RawReply.json(envelope | {"choices": [choice | {"finish_reason": finish}]})


AZURE = {
    "message": "The response was filtered due to the prompt triggering Azure OpenAI's content "
    "management policy. Please modify your prompt and retry.",
    "code": "content_filter",
    "status": 400,
}


@OVER_THE_WIRE
@pytest.mark.parametrize(
    ("reply", "sentence", "tokens"),
    [
        (message("stop", refusal="I can't help."), "declined to answer: I can't help.", 29),
        (message("content_filter"), "content filter stopped it", 29),
        (message("length", '{"queries": ["asyn'), "ran into its limit of tokens", 29),
        (RawReply.json({"error": AZURE}, 400), "content filter stopped it", None),
    ],
    ids=["refusal", "filter", "cut off", "azure"],
)
async def test_a_refusal_is_told_and_not_paid_twice(
    made: Any, reply: Any, sentence: str, tokens: int | None
) -> None:
    """No weaker method is tried; the tokens of the answer are known."""
    with OpenAIServer(reply) as server:
        error = await told(made(server))
    assert sentence in str(error)
    assert len(server.requests) == 1
    assert (error.may_be_billed, error.input_tokens) == (True, tokens)


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"stop_reason": "refusal"}, "declined to answer"),
        ({"finish_reason": "SAFETY"}, "content filter stopped it"),
        ({"prompt_feedback": {"block_reason": 2}}, "content filter stopped it"),
        ({"stopReason": "guardrail_intervened"}, "content filter stopped it"),
        ({"stop_reason": "max_tokens"}, "ran into its limit of tokens"),
    ],
)
async def test_refusals_of_other_vendors_are_told(metadata: Any, sentence: str) -> None:
    """By the names that their LangChain packages give them."""

    class Stopped(ScriptedChatModel):
        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            self.calls.append(messages)
            reply = AIMessage("", response_metadata=metadata)
            return ChatResult(generations=[ChatGeneration(message=reply)])

    model = Stopped(replies=[])
    assert sentence in str(await told(LangChainQueryModel(model)))
    assert len(model.calls) == 1


@OVER_THE_WIRE
async def test_a_failure_after_refused_methods_tells_the_first_of_them(made: Any) -> None:
    """What the endpoint said at first is part of the sentence."""
    with OpenAIServer("I do not know.", refuses=EVERY_METHOD) as server:
        error = await told(made(server))
    assert "holds no list of queries" in str(error)
    assert "response_format" in str(error)
    assert (len(server.requests), error.input_tokens, error.output_tokens) == (4, 29, 44)


async def test_a_paid_answer_is_paid_although_the_next_request_fails() -> None:
    """A failure that costs nothing does not make what came before it free."""
    with OpenAIServer("only prose", OpenAIFailure(500, "Oh no.")) as server:
        error = await told(endpoint(server))
    assert "failed on its own side: Oh no." in str(error)
    assert (error.may_be_billed, error.input_tokens, error.output_tokens) == (True, 29, 44)


@pytest.mark.parametrize(
    ("failure", "sentence", "is_key"),
    [
        (OpenAIFailure(401, "No."), "refused the key", True),
        (OpenAIFailure(403, "Your country is not supported."), "Your country is not", True),
        (OpenAIFailure(400, "API key not valid. Please pass a valid API key."), "the key", True),
        (OpenAIFailure(403, "No access to model x", code="model_not_found"), "not known", False),
        (OpenAIFailure(403, "Your input was flagged by moderation."), "content filter", False),
    ],
)
async def test_a_refused_key_is_told_apart(failure: Any, sentence: str, is_key: bool) -> None:
    """Whoever asks for a model may stop at it."""
    with OpenAIServer(failure) as server:
        error = await told(endpoint(server))
    assert sentence in str(error)
    assert error.key_refused is is_key


async def test_a_chat_without_tools_says_so() -> None:
    """A model that takes no tools cannot be given any."""
    tool: Any = SimpleNamespace(name="t", description="d", parameters={})
    model = LangChainQueryModel(RunnableLambda(lambda _: "Yes."))
    with pytest.raises(ModelError, match="it takes no tools"):
        await model.chat([], tools=[tool])
