"""Embeddings over OpenAI's protocol: one request for a run, and what may come back."""

from __future__ import annotations

import asyncio
import base64
import logging
import struct
import subprocess
import sys
import traceback

import numpy as np
import pytest
from pydantic import SecretStr
from support.planning import KEY
from support.waiting import wait_until_async

from collection_search.adapters.embeddings.openai import (
    MAX_BATCH_CHARS,
    MAX_INPUTS,
    MAX_REQUESTS,
    OpenAIEmbedder,
)
from collection_search.errors import ConfigError, ModelError
from collection_search.settings import Settings, registry
from collection_search.testing.openai_server import (
    KEY_REFUSED,
    MODEL_UNKNOWN,
    QUOTA_USED_UP,
    SERVER_ERROR,
    THROTTLED,
    OpenAIFailure,
    OpenAIServer,
    RawReply,
)

TEXTS = ["cancel a task", "read a file", "cancel a file"]
MODEL = "text-embedding-3-small"
ELSEWHERE = "COLLECTION_SEARCH_EMBEDDINGS_BASE_URL"


def settings(server, **given) -> Settings:
    access = {"openai_api_key": KEY, "openai_base_url": server.base_url, "model_timeout_s": 5.0}
    return Settings(**access | given)


def embedder(server, model: str = MODEL, **given) -> OpenAIEmbedder:
    return OpenAIEmbedder.from_settings(settings(server, **given), model=model)


async def failure(embedder, texts=TEXTS) -> str:
    with pytest.raises(ModelError) as caught:
        await embedder.embed(texts)
    return str(caught.value)


def data(*vectors, **fields) -> RawReply:
    items = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return RawReply.json({"data": items} | fields)


async def test_one_request_brings_unit_vectors_and_the_usage():
    """Asked for in base64, with the key."""
    with OpenAIServer(dimension=1536) as server:
        found = await embedder(server).embed(TEXTS)
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": MODEL, "input": TEXTS, "encoding_format": "base64"}
    assert found.vectors.shape == (3, 1536)
    assert found.vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(found.vectors, axis=1), 1.0)
    assert found.input_tokens == 9
    near, far = found.vectors[0] @ found.vectors[2], found.vectors[0] @ found.vectors[1]
    assert near > far


@pytest.mark.parametrize("form", [{"gives_base64": False}, {"refuses": frozenset({"base64"})}])
async def test_lists_give_the_same_vectors(form):
    """From an endpoint that ignores the parameter, and from one that refuses it once."""
    with OpenAIServer() as plain, OpenAIServer(**form) as other:
        expected = await embedder(plain).embed(TEXTS)
        model = embedder(other)
        found = [await model.embed(TEXTS) for _ in range(2)]
    assert all(np.array_equal(each.vectors, expected.vectors) for each in found)
    assert len(other.requests) == 2 + ("refuses" in form)


async def test_a_gateway_that_is_not_clear_about_base64_is_asked_without():
    """Its words for it say nothing; a second refusal is the real one."""
    unclear = OpenAIFailure(400, "An error occurred while reading the response body")
    with OpenAIServer(embeddings=[unclear, data([1.0, 0.0], [0.0, 1.0], [1.0, 1.0])]) as server:
        assert len((await embedder(server).embed(TEXTS)).vectors) == 3
    assert ["encoding_format" in each.body for each in server.requests] == [True, False]
    with OpenAIServer(embeddings=[unclear]) as server:
        assert "(HTTP 400) failed: An error occurred" in await failure(embedder(server))
    assert len(server.requests) == 2


async def test_rows_follow_their_index():
    """An endpoint may answer in another order, or without numbers."""
    east, north = [1.0, 0.0], [0.0, 1.0]
    shuffled = [{"index": 1, "embedding": north}, {"index": 0, "embedding": east}]
    plain = [{"embedding": east}, {"embedding": north}]
    for items in (shuffled, plain):
        with OpenAIServer(embeddings=[RawReply.json({"data": items})]) as server:
            found = await embedder(server).embed(["a", "b"])
        assert found.vectors.tolist() == [east, north]


async def test_shorter_vectors_are_asked_for():
    """The dimensions are part of the fingerprint."""
    with OpenAIServer(dimension=1536) as server:
        model = embedder(server, f"{MODEL}@512")
        assert (await model.embed(TEXTS)).vectors.shape == (3, 512)
    assert server.requests[0].body["dimensions"] == 512
    assert model.fingerprint == f"openai:{MODEL}@512"
    assert embedder(server).fingerprint == f"openai:{MODEL}"
    assert embedder(server, "@cf/baai/bge-m3").fingerprint == "openai:@cf/baai/bge-m3"


async def test_texts_are_sent_as_any_model_takes_them():
    """Cut, never empty, and valid Unicode."""
    with OpenAIServer() as server:
        await embedder(server).embed(["", "x" * 9_000, "half \ud800 a character"])
    assert server.requests[0].body["input"] == [" ", "x" * 8_000, "half ? a character"]


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [
        (["word"] * MAX_INPUTS, [MAX_INPUTS]),
        (["word"] * (MAX_INPUTS + 1), [MAX_INPUTS, 1]),
        (["x" * 5_000] * 120, [50, 50, 20]),
        (["x" * 8_000] * (MAX_BATCH_CHARS // 8_000), [31]),
    ],
    ids=["as many as fit", "one more", "many long ones", "as long as fits"],
)
async def test_more_than_one_request_takes_is_divided(texts, sizes):
    """The rows stay in order, the usage is the sum."""
    with OpenAIServer(dimension=4) as server:
        found = await embedder(server, model_timeout_s=60.0).embed(texts)
    sent = [len(request.body["input"]) for request in server.requests]
    assert sorted(sent, reverse=True) == sizes
    assert len(found.vectors) == found.input_tokens == len(texts)


async def test_a_batch_that_fails_is_the_failure_of_the_call():
    """One sentence, not a group of errors."""
    replies = [data(*[[1.0, 2.0]] * 50), THROTTLED]
    with OpenAIServer(embeddings=replies) as server, pytest.raises(ModelError) as caught:
        await embedder(server).embed(["x" * 5_000] * 500)
    assert "is throttled" in str(caught.value)
    assert not isinstance(caught.value.__cause__, ExceptionGroup)


async def test_large_answers_are_read_in_a_thread():
    """The result is the same."""
    with OpenAIServer(dimension=3072, gives_base64=False) as server:
        found = await embedder(server, model_timeout_s=60.0).embed([f"text {n}" for n in range(80)])
    assert found.vectors.shape == (80, 3072)


async def test_calls_share_a_connection():
    """Chat and embeddings of one run need two in all: the loop keeps them."""
    with OpenAIServer() as server:
        model = embedder(server)
        for _ in range(3):
            await model.embed(TEXTS)
        assert server.connections == 1


async def test_no_text_needs_no_request():
    """Nothing is asked for nothing."""
    with OpenAIServer() as server:
        found = await embedder(server).embed([])
    assert found.vectors.shape == (0, 0)
    assert server.requests == []


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": "7"}, None),
        ({"total_tokens": 7}, 7),
        ({"prompt_tokens": 0, "total_tokens": 7}, 0),
    ],
)
async def test_usage_is_what_the_endpoint_says(usage, tokens):
    """No figure is invented."""
    with OpenAIServer(embeddings=[data([1.0], [1.0], [1.0], usage=usage)]) as server:
        assert (await embedder(server).embed(TEXTS)).input_tokens == tokens


def packed(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (data([1.0, 0.0], [1.0, 0.0]), "gave 2 vectors for 3 texts"),
        (data(*[[1.0, 0.0]] * 4), "gave 4 vectors for 3 texts"),
        (data([1.0, 0.0], [1.0], [1.0, 0.0]), "vectors of different lengths or without numbers"),
        (data([1.0, 0.0], [0.0, 0.0], [1.0, 0.0]), "gave a vector of zeros"),
        (data([1.0], [float("nan")], [1.0]), "hold NaN or infinite values"),
        (data(packed(1.0), packed(float("inf")), packed(1.0)), "hold NaN or infinite values"),
        (data(packed(1.0), packed(3e38, 3e38), packed(1.0)), "vectors of different lengths"),
        (data([], [], []), "in place of vectors"),
        (data([[1.0]], [[1.0]], [[1.0]]), "in place of vectors"),
        (data(["one"], ["two"], ["three"]), "without numbers"),
        (data("no base64!", packed(1.0), packed(1.0)), "an answer that holds no vectors"),
        (data("QQ==", "QQ==", "QQ=="), "an answer that holds no vectors"),
        (data(None, None, None), "in place of vectors"),
        (
            RawReply.json({"data": [{"index": n, "embedding": [1.0]} for n in (0, 2, 2)]}),
            "no vectors",
        ),
        (
            RawReply.json({"data": [{"index": "a"}, {"index": 1}, {}]}),
            "an answer that holds no vectors",
        ),
        (RawReply.json({"data": 7}), "an answer that holds no vectors"),
        (RawReply.json({"choices": []}), "an answer that holds no vectors"),
    ],
)
async def test_vectors_that_are_none_are_a_model_error(reply, sentence):
    """The message says what came and what to check; nothing of it is used."""
    with OpenAIServer(embeddings=[reply]) as server:
        told = await failure(embedder(server))
    assert sentence in told
    assert f"The embedding model {MODEL} gave" in told
    assert "Check COLLECTION_SEARCH_EMBEDDINGS" in told
    assert len(server.requests) == 1


async def test_a_dimension_that_changes_within_a_call_is_a_model_error():
    """Its vectors are comparable, or there are none; a later call may be of another model."""
    texts = ["x" * 8_000] * (1 + MAX_BATCH_CHARS // 8_000)
    many = [[1.0, 0.0]] * (len(texts) - 1)
    with OpenAIServer(embeddings=[data(*many), data([1.0, 0.0, 0.0])]) as server:
        told = await failure(embedder(server), texts)
    assert "3 dimensions where 2 are expected" in told
    with OpenAIServer(embeddings=[data([1.0, 0.0]), data([1.0, 0.0, 0.0])]) as server:
        model = embedder(server)
        sizes = [(await model.embed(["a"])).vectors.shape[1] for _ in range(2)]
        assert sizes == [2, 3]
    with OpenAIServer(embeddings=[data(*[[1.0, 0.0]] * 3)]) as server:
        told = await failure(embedder(server, f"{MODEL}@512"))
    assert "2 dimensions where 512 are expected" in told


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (KEY_REFUSED, "(HTTP 401) refused the key. Check OPENAI_API_KEY."),
        (MODEL_UNKNOWN, "Check COLLECTION_SEARCH_EMBEDDINGS and OPENAI_BASE_URL (http://127"),
        (QUOTA_USED_UP, "has no quota left. Check plan and billing"),
        (SERVER_ERROR, "(HTTP 500) failed on its own side: The server had an error"),
        (OpenAIFailure(413, "Too large."), "(HTTP 413) failed: Too large."),
        (RawReply(b"<html>", 200, "text/html"), "is not at this address: the answer is no JSON"),
    ],
)
async def test_a_real_failure_is_reported_after_one_request(reply, sentence):
    """In the same words as for chat models; nothing is retried."""
    with OpenAIServer(embeddings=[reply]) as server:
        told = await failure(embedder(server))
    assert sentence in told
    assert len(server.requests) == 1


@pytest.mark.slow
async def test_a_slow_endpoint_runs_into_the_time_limit():
    """The message names the setting."""
    with OpenAIServer(latency_s=30) as server:
        told = await failure(embedder(server, model_timeout_s=0.2))
    assert "did not answer within 0.2 s. Raise COLLECTION_SEARCH_MODEL_TIMEOUT_S" in told
    assert len(server.requests) <= 1  # none where the time was over before it was sent


async def test_cancelling_a_run_cancels_the_call():
    """A cancelled run is not turned into a model error."""
    with OpenAIServer(latency_s=30) as server:
        task = asyncio.create_task(embedder(server, model_timeout_s=30.0).embed(TEXTS))
        await wait_until_async(lambda: server.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_requests_beyond_the_most_wait_for_their_turn():
    """One that waits is sent when another one ends."""
    with OpenAIServer(latency_s=30) as server:
        model = embedder(server, model_timeout_s=30.0)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(model.embed(TEXTS)) for _ in range(MAX_REQUESTS + 1)]
            await wait_until_async(lambda: len(server.requests) >= MAX_REQUESTS)
            await asyncio.sleep(0.05)
            assert len(server.requests) == MAX_REQUESTS
            tasks[0].cancel()
            await wait_until_async(lambda: len(server.requests) > MAX_REQUESTS)
            for task in tasks:
                task.cancel()
    assert len(server.requests) == MAX_REQUESTS + 1


async def test_the_wait_for_a_turn_has_the_time_limit_of_a_request():
    """Behind requests that are never answered nobody waits longer than for two of them."""
    with OpenAIServer(latency_s=30) as server:
        model = embedder(server, model_timeout_s=0.3)
        calls = [model.embed(TEXTS) for _ in range(3 * MAX_REQUESTS)]
        failures = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(each) for each in failures} == {ModelError}
    assert all("did not answer within 0.3 s" in str(each) for each in failures)
    assert len(server.requests) <= 2 * MAX_REQUESTS


@pytest.mark.parametrize(
    "form",
    [
        lambda key: OpenAIFailure(401, f"Bad key {key}."),
        lambda key: RawReply.json({"error": {"message": key, "code": key}}),
        lambda key: RawReply(f"<p>{key}</p>".encode(), 500, "text/html"),
        lambda key: RawReply(b"", 302, headers={"Location": f"https://e.example/?token={key}"}),
        lambda key: RawReply.json({"data": [key, key, key]}),
    ],
)
async def test_an_endpoint_that_repeats_the_key_does_not_make_us_repeat_it(form, caplog):
    """Not in the message, its causes, a log, or what objects show of themselves."""
    caplog.set_level(logging.DEBUG)
    with OpenAIServer(embeddings=[form("hunter2-hunter2")]) as server:
        model = embedder(server, openai_api_key="hunter2-hunter2")
        with pytest.raises(ModelError) as caught:
            await model.embed(TEXTS)
    shown = "".join(traceback.format_exception(caught.value))
    shown += f"{caught.value!r} {caught.value.__cause__!r} {model!r} {vars(model)} {caplog.text}"
    assert "hunter2" not in shown


# Settings


async def test_embeddings_may_come_from_another_endpoint():
    """Their own address and key come first, and are named in failures."""
    with OpenAIServer() as chat, OpenAIServer(embeddings=[KEY_REFUSED]) as own:
        model = embedder(chat, embeddings_base_url=own.base_url, embeddings_api_key="own-key")
        told = await failure(model)
    assert chat.requests == []
    assert own.requests[0].headers["authorization"] == "Bearer own-key"
    assert "Check COLLECTION_SEARCH_EMBEDDINGS_API_KEY." in told


async def test_the_key_of_the_chat_endpoint_stays_there():
    """It is never sent to an address of embeddings that has no key of its own."""
    with OpenAIServer() as chat, OpenAIServer() as own:
        await embedder(chat, embeddings_base_url=own.base_url).embed(TEXTS)
    assert "authorization" not in own.requests[0].headers
    with OpenAIServer(embeddings=[MODEL_UNKNOWN]) as own:
        told = await failure(embedder(chat, embeddings_base_url=own.base_url))
    assert f"and {ELSEWHERE} (http://127" in told


async def test_a_key_of_its_own_is_enough():
    """The same endpoint, billed to another key."""
    with OpenAIServer() as server:
        await embedder(server, embeddings_api_key=" own-key\n").embed(TEXTS)
    assert server.requests[0].headers["authorization"] == "Bearer own-key"


def test_openai_without_a_key_names_the_variable():
    """Neither a key nor an own endpoint is an error of the settings."""
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        OpenAIEmbedder.from_settings(Settings(openai_api_key=" "), model=MODEL)
    with pytest.raises(ConfigError, match="COLLECTION_SEARCH_EMBEDDINGS_API_KEY holds"):
        OpenAIEmbedder.from_settings(Settings(embeddings_api_key="“k”"), model=MODEL)


@pytest.mark.parametrize("model", ["", "  "])
def test_openai_without_a_model_says_how_to_name_one(model):
    """`openai` alone does not say which model."""
    with pytest.raises(ConfigError, match="openai:text-embedding-3-small@512"):
        OpenAIEmbedder.from_settings(Settings(openai_api_key=KEY), model=model)


async def test_an_object_made_in_python_needs_no_settings():
    """Failures name what the object was given."""
    with OpenAIServer(embeddings=[KEY_REFUSED]) as server:
        model = OpenAIEmbedder("m", base_url=server.base_url, api_key=SecretStr(KEY))
        assert "Check the key that the model object was given" in await failure(model)


def test_the_registry_knows_it():
    """By the name that stands before the colon."""
    assert registry.load_adapter("embeddings", "openai") is OpenAIEmbedder


FIRST_CALL = """
import asyncio, json, sys
from blockbuster import BlockBuster
from collection_search.adapters.embeddings.openai import OpenAIEmbedder

async def main():
    blockbuster = BlockBuster()
    blockbuster.activate()
    try:
        model = OpenAIEmbedder("m", base_url=sys.argv[1])
        print(json.dumps((await model.embed(["a", "b"])).vectors.shape))
        heavy = {"langchain_openai", "langchain_core", "openai", "httpx", "tiktoken", "fastembed"}
        assert not heavy & sys.modules.keys()
    finally:
        blockbuster.deactivate()

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_call_needs_no_vendor_library_and_blocks_no_loop():
    """In a fresh process neither the import nor the call loads one."""
    with OpenAIServer() as server:
        done = subprocess.run(
            [sys.executable, "-c", FIRST_CALL, server.base_url],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout.strip() == "[2, 64]", done.stderr
