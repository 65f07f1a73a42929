"""Query planning over OpenAI's protocol: one request on the wire, and what may come back."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import traceback
import warnings

import pytest
from langgraph.graph import StateGraph
from pydantic import SecretStr
from support.planning import ANSWER, FENCED, KEY, METHODS, QUERIES, failure, plan
from support.ports import closed_port
from support.waiting import wait_until_async
from typing_extensions import TypedDict

from collection_search.adapters.models.openai import OpenAIQueryModel
from collection_search.errors import ConfigError, ModelError
from collection_search.settings import Settings, registry
from collection_search.testing.openai_server import (
    KEY_REFUSED,
    MODEL_UNKNOWN,
    QUOTA_USED_UP,
    SERVER_ERROR,
    OpenAIFailure,
    OpenAIServer,
    RawReply,
)


def openai(server, **options):
    options = {"api_key": SecretStr(KEY), "base_url": server.base_url, "timeout_s": 60.0} | options
    return OpenAIQueryModel("gpt-4o-mini", **options)


async def test_openai_plans_in_one_request():
    """One request in strict JSON schema, with key, temperature 0 and without streaming."""
    with OpenAIServer(ANSWER) as server:
        result = await plan(openai(server))
    (request,) = server.requests
    assert result.queries == QUERIES
    assert (result.model, result.input_tokens, result.output_tokens) == ("gpt-4o-mini", 29, 44)
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["temperature"] == 0
    assert not request.body.get("stream")
    form = request.body["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["additionalProperties"] is False
    assert "maxItems" not in json.dumps(form)


async def test_a_host_that_streams_its_messages_gets_the_plan_all_the_same():
    """The request stays a plain one, so that usage is reported by every endpoint."""

    async def node(state):
        result = await plan(state["model"])
        return {"tokens": (result.input_tokens, result.output_tokens)}

    class State(TypedDict, total=False):
        model: OpenAIQueryModel
        tokens: tuple[int, int]

    host = StateGraph(State).add_node(node).set_entry_point("node").compile()
    with OpenAIServer(ANSWER) as server:
        events = host.astream({"model": openai(server)}, stream_mode=["messages", "updates"])
        updates = [update async for mode, update in events if mode == "updates"]
    assert updates == [{"node": {"tokens": (29, 44)}}]
    assert not server.requests[0].body.get("stream")


@pytest.mark.parametrize(
    ("model", "temperature"),
    [
        ("gpt-4.1", 0),
        ("gpt-5-chat-latest", 0),
        ("o3-mini", None),
        ("openai/o3", None),
        ("gpt-5-mini", None),
        ("gpt-6-astra", None),
    ],
)
async def test_reasoning_models_are_sent_no_temperature(model, temperature):
    """They refuse a request that names one."""
    with OpenAIServer(ANSWER) as server:
        await plan(OpenAIQueryModel(model, base_url=server.base_url))
    assert server.requests[0].body.get("temperature") == temperature


async def test_a_model_that_refuses_the_temperature_is_asked_without():
    """Once: from the second plan on it is one request again."""
    refusal = OpenAIFailure(
        400, "Unsupported value: 'temperature' does not support 0 with this model."
    )
    with OpenAIServer(refusal, ANSWER) as server:
        model = openai(server)
        assert [(await plan(model)).queries for _ in range(2)] == [QUERIES] * 2
    assert ["temperature" in each.body for each in server.requests] == [True, False, False]
    assert {each.method for each in server.requests} == {"json_schema"}


@pytest.mark.parametrize("refused", [1, 2])
async def test_an_endpoint_that_refuses_a_method_is_asked_by_the_next(refused):
    """The error 400 of the protocol leads down the ladder once, silently."""
    with OpenAIServer(ANSWER, refuses=frozenset(METHODS[:refused])) as server:
        model = openai(server)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert (await plan(model)).queries == QUERIES
        await plan(model)
    assert caught == []
    assert [each.method for each in server.requests] == [*METHODS[: refused + 1], METHODS[refused]]


@pytest.mark.parametrize("prose", ["asyncio timeout, asyncio cancel", ""])
async def test_an_endpoint_that_ignores_the_schema_is_asked_by_tool_call(prose):
    """Prose in place of the schema counts as a refusal of the method."""
    with OpenAIServer(prose, ANSWER) as server:
        assert (await plan(openai(server))).queries == QUERIES
    assert [each.method for each in server.requests] == METHODS[:2]


def usage(given, made):
    return {"prompt_tokens": given, "completion_tokens": made}


@pytest.mark.parametrize(
    ("usages", "tokens"),
    [
        ([usage(100, 10), usage(20, 2)], (120, 12)),
        ([None, usage(20, 2)], (None, None)),
        ([usage(100, 10), None], (None, None)),
        ([usage(100, None), usage(20, 2)], (120, None)),
    ],
)
async def test_an_answer_in_prose_is_paid_for_too(usages, tokens):
    """The plan tells what all answers cost, or nothing where one does not say."""
    replies = [
        {"choices": [{"message": {"content": text}}], "usage": usage}
        for text, usage in zip(("only prose", json.dumps(ANSWER)), usages, strict=True)
    ]
    with OpenAIServer(*map(RawReply.json, replies)) as server:
        result = await plan(openai(server))
    assert (result.input_tokens, result.output_tokens) == tokens
    assert len(server.requests) == 2


async def test_a_refused_method_costs_nothing():
    """The endpoint said no before any token was made."""
    with OpenAIServer(ANSWER, refuses=frozenset(METHODS[:2])) as server:
        result = await plan(openai(server))
    assert (result.input_tokens, result.output_tokens) == (29, 44)


async def test_an_endless_answer_is_not_read():
    """One of some mebibytes holds no queries, whatever it holds."""
    with OpenAIServer({"queries": ["x" * 2_000_000]}) as server:
        assert "over 1048576 bytes" in await failure(openai(server))


async def test_an_endless_list_is_cut():
    """A short answer may hold a hundred thousand queries."""
    arguments = {"queries": [str(number) for number in range(50_000)]}
    reply = message(content=None, tool_calls=[{"function": {"arguments": arguments}}])
    with OpenAIServer(reply) as server:
        assert (await plan(openai(server))).queries == arguments["queries"][:50]


@pytest.mark.parametrize(
    "text",
    [
        FENCED,
        f"Here you are: {json.dumps(ANSWER)} I hope that helps.",
        f"<think>They want {{queries}}.</think>{json.dumps(ANSWER)}",
    ],
)
async def test_json_in_a_wrapping_is_accepted_from_an_endpoint_too(text):
    """A second request would cost money and bring the same."""
    with OpenAIServer(text) as server:
        assert (await plan(openai(server))).queries == QUERIES
    assert len(server.requests) == 1


def message(**fields):
    return RawReply.json({"model": "m", "choices": [{"message": {"role": "assistant"} | fields}]})


@pytest.mark.parametrize(
    "reply",
    [
        message(content=[{"type": "text", "text": json.dumps(ANSWER)}]),
        message(content=None, tool_calls=[{"function": {"arguments": ANSWER}}]),
        message(content=json.dumps(ANSWER), tool_calls=None, refusal=None),
        message(content=json.dumps(ANSWER), tool_calls=[], refusal=""),
    ],
    ids=["parts", "arguments as an object", "null fields", "empty fields"],
)
async def test_dialects_of_the_answer_are_read(reply):
    """Compatible endpoints differ in where they put the text."""
    with OpenAIServer(reply) as server:
        assert (await plan(openai(server))).queries == QUERIES


async def test_a_refusal_is_told_with_its_reason():
    """A model that will not plan is not asked in another form."""
    with OpenAIServer(message(content=None, refusal="I can't help with that.")) as server:
        told = await failure(openai(server))
    assert "declined to answer: I can't help with that." in told
    assert len(server.requests) == 1


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": "7"}])
async def test_usage_that_an_endpoint_does_not_report_stays_unknown(usage):
    """No figure is invented."""
    answer = {"choices": [{"message": {"content": json.dumps(ANSWER)}}], "usage": usage}
    with OpenAIServer(RawReply.json(answer)) as server:
        result = await plan(openai(server))
    assert (result.model, result.input_tokens, result.output_tokens) == ("gpt-4o-mini", None, None)


async def test_an_endpoint_without_any_method_is_asked_in_words():
    """Three refusals leave the plain prompt, which is remembered."""
    with OpenAIServer(FENCED, refuses=frozenset(METHODS)) as server:
        model = openai(server)
        assert [(await plan(model)).queries for _ in range(2)] == [QUERIES] * 2
    assert [each.method for each in server.requests] == [*METHODS, None, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (KEY_REFUSED, "(HTTP 401) refused the key. Check OPENAI_API_KEY."),
        (MODEL_UNKNOWN, "Check COLLECTION_SEARCH_MODEL and OPENAI_BASE_URL"),
        (QUOTA_USED_UP, "has no quota left. Check plan and billing"),
        (OpenAIFailure(402, "Insufficient Balance"), "(HTTP 402) has no quota left"),
        (OpenAIFailure(400, "Your credit balance is too low"), "(HTTP 400) has no quota left"),
        (SERVER_ERROR, "(HTTP 500) failed on its own side: The server had an error"),
        (
            OpenAIFailure(400, "Unsupported value: 'max_tokens'"),
            "(HTTP 400) failed: Unsupported value",
        ),
        ({"queries": [7]}, "holds no list of queries"),
        (RawReply.json({"choices": []}), "holds no list of queries"),
        (RawReply.json(["no", "object"]), "is not at this address: the answer is no JSON object"),
        (RawReply(b"[" * 100_000), "is not at this address: the answer is no JSON"),
        (
            RawReply(b"<html>Welcome", 200, "text/html"),
            "not at this address: the answer is no JSON",
        ),
        (RawReply(b"<html><h1>Not found</h1>", 404, "text/html"), "(HTTP 404) is not known there"),
        (RawReply(b"", 500), "(HTTP 500) failed on its own side: no reason is given."),
        (
            RawReply(b"", 307, headers={"Location": "https://elsewhere.example/v1"}),
            "it redirects to",
        ),
        (
            RawReply.json([{"error": {"message": "Bad thing"}}], 400),
            "(HTTP 400) failed: Bad thing.",
        ),
        (RawReply.json({"error": "Bad thing"}, 400), "(HTTP 400) failed: Bad thing."),
        (RawReply.json({"detail": [{"msg": "Bad thing"}]}, 422), "(HTTP 422) failed: Bad thing."),
        (
            RawReply.json({"error": {"message": "Upstream", "code": 500}}),
            "(HTTP 500) failed on its own",
        ),
        (
            RawReply.json({"error": {"message": "Upstream", "code": "x"}}),
            "(HTTP 502) failed on its own",
        ),
    ],
)
async def test_a_real_failure_is_reported_after_one_request(reply, sentence):
    """Errors of the protocol and its dialects are neither retried nor taken for a refused form."""
    with OpenAIServer(reply) as server:
        told = await failure(openai(server))
    assert sentence in told
    assert len(server.requests) == 1


async def test_empty_answers_end_the_ladder():
    """An empty answer may mean that the schema was ignored; an empty one to a tool call is one."""
    with OpenAIServer(message()) as server:
        assert "holds no list of queries" in await failure(openai(server))
    assert [each.method for each in server.requests] == METHODS[:2]


@pytest.mark.slow
async def test_a_slow_endpoint_runs_into_the_time_limit():
    """The limit covers the whole plan; the message names the setting."""
    with OpenAIServer(ANSWER, latency_s=30) as server:
        message = await failure(openai(server, timeout_s=0.2))
    assert "did not answer within 0.2 s. Raise COLLECTION_SEARCH_MODEL_TIMEOUT_S" in message
    assert len(server.requests) <= 1  # none where the time was over before it was sent


async def test_an_unreachable_endpoint_is_named_without_its_credentials():
    """The message shows the cause, the address and the variable to check."""
    with OpenAIServer() as server, closed_port() as port:
        message = await failure(openai(server, base_url=f"http://me:secret@127.0.0.1:{port}"))
    assert "cannot be reached: connection refused. Check OPENAI_BASE_URL" in message
    assert "(http://[secret]@127.0.0.1" in message
    assert "me:secret" not in message


async def test_credentials_in_the_address_take_the_place_of_the_key():
    """One request can hold one of the two."""
    with OpenAIServer(ANSWER) as server:
        address = server.base_url.replace("http://", "http://me:secret@")
        assert (await plan(openai(server, base_url=address))).queries == QUERIES
    assert server.requests[0].headers["authorization"].startswith("Basic ")


@pytest.mark.slow
@pytest.mark.parametrize("key", [KEY, "plain words", "zz-y"])
@pytest.mark.parametrize(
    "form",
    [
        lambda key: OpenAIFailure(401, f"Bad key {key}."),
        lambda key: OpenAIFailure(429, f"Slow down, {key}."),
        lambda key: OpenAIFailure(400, f"What is {key}?", code=key, param=key),
        lambda key: RawReply.json(
            {"detail": [{"headers": {"Authorization": f"Bearer {key}"}}]}, 422
        ),
        lambda key: RawReply(f"<p>{key}</p>".encode(), 500, "text/html"),
        lambda key: RawReply(b"", 302, headers={"Location": f"https://e.example/?token={key}"}),
        lambda key: RawReply.json({"error": f"{key} is out of credits"}),
    ],
)
async def test_an_endpoint_that_repeats_the_key_does_not_make_us_repeat_it(key, form, caplog):
    """Not in the message, its causes, a log, or what objects show of themselves."""
    caplog.set_level(logging.DEBUG)
    with OpenAIServer(form(key)) as server:
        model = openai(server, api_key=SecretStr(key))
        with pytest.raises(ModelError) as caught:
            await plan(model)
    shown = "".join(traceback.format_exception(caught.value))
    shown += f"{caught.value!r} {caught.value.__cause__!r} {model!r} {vars(model)} {caplog.text}"
    assert key not in shown


async def test_an_endpoint_that_speaks_no_http_does_not_make_us_show_the_key():
    """The client's own errors know the headers of the request."""

    async def babble(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"hello, who is there?\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        address = f"http://127.0.0.1:{port}/v1"
        model = OpenAIQueryModel("m", api_key=SecretStr(KEY), base_url=address, timeout_s=60.0)
        with pytest.raises(ModelError, match="no valid HTTP") as caught:
            await plan(model)
    shown, error = "".join(traceback.format_exception(caught.value)), caught.value
    while error is not None:
        shown, error = shown + repr(error), error.__cause__
    assert KEY not in shown


async def test_a_key_in_the_answer_itself_does_not_reach_the_plan():
    """Queries and the model's name go into spans."""
    answer = {"queries": [f"what is {KEY}", "asyncio", "tasks"]}
    body = {"model": KEY, "choices": [{"message": {"content": json.dumps(answer)}}]}
    with OpenAIServer(RawReply.json(body)) as server:
        result = await plan(openai(server))
    assert KEY not in repr(result)
    assert result.queries[0] == "what is [secret]"
    with OpenAIServer(message(content=None, refusal=f"I refuse {KEY}")) as server:
        assert "declined to answer: I refuse [secret]" in await failure(openai(server))


async def test_plans_share_a_connection():
    """From the second plan on no connection is opened."""
    with OpenAIServer(ANSWER) as server:
        model = openai(server)
        for _ in range(3):
            await plan(model)
        assert server.connections == 1
    assert len(server.requests) == 3


def test_one_model_serves_several_event_loops():
    """No connection is kept that would belong to a loop of the past."""
    with OpenAIServer(ANSWER) as server:
        model = openai(server)
        plans = [asyncio.run(plan(model)) for _ in range(3)]
    assert [each.queries for each in plans] == [QUERIES] * 3


async def test_many_runs_plan_at_once():
    """Fifty plans with one model share nothing that could mix their answers."""
    with OpenAIServer(ANSWER) as server:
        model = openai(server)
        plans = await asyncio.gather(*(plan(model, f"question {n}") for n in range(50)))
    asked = {
        json.loads(each.body["messages"][1]["content"])["question"] for each in server.requests
    }
    assert len(plans) == 50
    assert asked == {f"question {n}" for n in range(50)}


FIRST_CALL = """
import asyncio, sys
from blockbuster import BlockBuster
from collection_search.adapters.models.openai import OpenAIQueryModel

async def main():
    blockbuster = BlockBuster()
    blockbuster.activate()
    try:
        model = OpenAIQueryModel("gpt-4o-mini", base_url=sys.argv[1])
        print((await model.plan("q", purpose="p", count=3)).queries)
        heavy = {"langchain_openai", "langchain_core", "openai", "httpx", "tiktoken"}
        assert not heavy & sys.modules.keys()
    finally:
        blockbuster.deactivate()

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_plan_needs_no_vendor_library_and_blocks_no_loop():
    """In a fresh process neither the import nor the call loads one."""
    with OpenAIServer(ANSWER) as server:
        done = subprocess.run(
            [sys.executable, "-c", FIRST_CALL, server.base_url],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout.strip() == str(QUERIES), done.stderr


# Settings


@pytest.mark.parametrize("key", [None, "", "  "])
def test_openai_without_a_key_names_the_variable(key):
    """Neither a key nor an own endpoint is an error of the settings."""
    settings = Settings(openai_api_key=key, openai_base_url=None)
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        OpenAIQueryModel.from_settings(settings, model="gpt-4o-mini")


@pytest.mark.parametrize("key", ["“sk-abc”", "sk-\nabc"])
def test_a_broken_key_is_refused_at_once(key):
    """It could not even be sent; the message does not repeat it."""
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        OpenAIQueryModel.from_settings(Settings(openai_api_key=key), model="gpt-4o-mini")
    assert "abc" not in str(caught.value)


async def test_white_space_around_a_key_does_no_harm():
    """A copied line end is cut off."""
    with OpenAIServer(ANSWER) as server:
        settings = Settings(openai_api_key=f" {KEY}\n", openai_base_url=server.base_url)
        await plan(OpenAIQueryModel.from_settings(settings, model="gpt-4o-mini"))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("address", ["http://[bad", "localhost:8000/v1", "ftp://h/v1", "http://"])
async def test_an_address_that_is_none_is_a_model_error(address):
    """The message names the variable."""
    assert "Check OPENAI_BASE_URL" in await failure(OpenAIQueryModel("m", base_url=address))


async def test_a_question_of_broken_unicode_is_asked_all_the_same():
    """A lone half of a character cannot be sent."""
    with OpenAIServer(ANSWER) as server:
        assert (await plan(openai(server), "half \ud800 a character")).queries == QUERIES
    assert "half ? a character" in server.requests[0].body["messages"][1]["content"]


def test_openai_without_a_model_says_how_to_name_one():
    """`openai` alone does not say which model."""
    with pytest.raises(ConfigError, match="openai:gpt-4o-mini"):
        OpenAIQueryModel.from_settings(Settings(openai_api_key=KEY))


async def test_an_endpoint_of_ones_own_needs_no_key():
    """No key, no header."""
    with OpenAIServer(ANSWER) as server:
        settings = Settings(openai_api_key=None, openai_base_url=server.base_url)
        model = registry.load_adapter("models", "openai").from_settings(
            settings, model=" qwen3:8b "
        )
        result = await plan(model)
    assert result.model == "qwen3:8b"
    assert "authorization" not in server.requests[0].headers


async def test_foreign_variables_do_not_redirect_the_endpoint(monkeypatch):
    """Only our own settings decide where the question goes."""
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_PROXY", "http://127.0.0.1:9")
    with OpenAIServer(ANSWER) as server:
        assert (await plan(openai(server))).queries == QUERIES


async def test_cancelling_a_run_cancels_the_call():
    """A cancelled run is not turned into a model error."""
    with OpenAIServer(ANSWER, latency_s=30) as server:
        task = asyncio.create_task(plan(openai(server, timeout_s=30.0)))
        await wait_until_async(lambda: server.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
