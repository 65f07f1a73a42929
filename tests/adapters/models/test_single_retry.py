"""One more request where an endpoint is busy, within the time limit, and none otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anthropic
import httpx
import numpy as np
import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import Field, SecretStr
from support.planning import ANSWER, KEY, QUERIES, failure, plan

from collection_search.adapters.embeddings.langchain import LangChainEmbedder
from collection_search.adapters.embeddings.openai import MAX_INPUTS, OpenAIEmbedder
from collection_search.adapters.models.langchain import LangChainQueryModel
from collection_search.adapters.models.openai import OpenAIQueryModel
from collection_search.errors import ModelError
from collection_search.ports import ChatMessage
from collection_search.testing.openai_server import (
    QUOTA_USED_UP,
    SERVER_ERROR,
    OpenAIServer,
    RawReply,
)

if TYPE_CHECKING:
    from collection_search.contracts.collection import Embedded


def busy(status: int, wait: str | None = "0") -> RawReply:
    headers = {} if wait is None else {"Retry-After": wait}
    body = json.dumps({"error": {"message": "Busy.", "type": "overloaded_error"}}).encode()
    return RawReply(body, status, headers=headers)


def endpoint(server: OpenAIServer, retries: int = 0) -> OpenAIQueryModel:
    return OpenAIQueryModel("m", api_key=SecretStr(KEY), base_url=server.base_url, timeout_s=20.0)


def library(server: OpenAIServer, retries: int = 0) -> LangChainQueryModel:
    chat = ChatOpenAI(model="m", api_key=KEY, base_url=server.base_url, max_retries=retries)
    return LangChainQueryModel(chat, timeout_s=20.0)


@pytest.mark.parametrize("made", [endpoint, library])
@pytest.mark.parametrize("status", [429, 503, 529])
async def test_a_busy_endpoint_is_asked_once_more(made: Any, status: int) -> None:
    """For a plan and for an answer; only the answer is paid for."""
    with OpenAIServer(busy(status), ANSWER, busy(status), "Yes.") as server:
        model = made(server)
        planned = await plan(model)
        reply = await model.chat([ChatMessage("user", "Is tea hot?")])
    assert (planned.queries, planned.input_tokens, planned.output_tokens) == (QUERIES, 29, 44)
    assert (reply.text, reply.input_tokens, len(server.requests)) == ("Yes.", 29, 4)


@pytest.mark.parametrize("made", [endpoint, library])
async def test_there_is_one_retry(made: Any) -> None:
    """The second refusal is the failure, and costs nothing."""
    with OpenAIServer(busy(429)) as server, pytest.raises(ModelError, match="throttled") as caught:
        await plan(made(server))
    assert len(server.requests) == 2
    assert not caught.value.may_be_billed


@pytest.mark.parametrize("made", [endpoint, library])
@pytest.mark.parametrize("reply", [busy(429, "3600"), QUOTA_USED_UP, SERVER_ERROR])
async def test_what_no_retry_helps_is_told_at_once(made: Any, reply: Any) -> None:
    """A wait beyond the time limit, a quota without money, a failure of another kind."""
    with OpenAIServer(reply) as server:
        assert await failure(made(server))
    assert len(server.requests) == 1


async def test_an_endpoint_that_names_no_wait_is_asked_again_too() -> None:
    """After a short one."""
    with OpenAIServer(busy(503, None), ANSWER) as server:
        assert (await plan(endpoint(server))).queries == QUERIES


async def test_an_object_with_its_own_retries_is_not_retried_on_top() -> None:
    """One of its own makes two requests, not four."""
    with OpenAIServer(busy(429)) as server:
        assert "throttled" in await failure(library(server, retries=1))
    assert len(server.requests) == 2


async def test_every_batch_of_an_embedder_has_its_retry() -> None:
    """What was embedded is not sent again, and counts once."""
    with OpenAIServer() as plain:
        answers = OpenAIEmbedder("m", base_url=plain.base_url, timeout_s=20.0)
        expected = await answers.embed(["a"] * (MAX_INPUTS + 1))
    many, one = (
        RawReply.json(
            {
                "data": [{"index": n, "embedding": [1.0]} for n in range(count)],
                "usage": {"prompt_tokens": count},
            }
        )
        for count in (MAX_INPUTS, 1)
    )
    with OpenAIServer(embeddings=[busy(503), many, busy(429), one]) as server:
        found = await OpenAIEmbedder("m", base_url=server.base_url, timeout_s=20.0).embed(
            ["a"] * (MAX_INPUTS + 1)
        )
    assert len(server.requests) == 4
    assert found.input_tokens == expected.input_tokens == MAX_INPUTS + 1


async def test_a_batch_that_was_answered_is_billed_although_the_next_one_fails() -> None:
    """The error knows its tokens."""
    many = RawReply.json(
        {
            "data": [{"index": n, "embedding": [1.0]} for n in range(MAX_INPUTS)],
            "usage": {"prompt_tokens": 7},
        }
    )
    with OpenAIServer(embeddings=[many, SERVER_ERROR]) as server, pytest.raises(ModelError) as told:
        await OpenAIEmbedder("m", base_url=server.base_url).embed(["a"] * (MAX_INPUTS + 1))
    assert (told.value.may_be_billed, told.value.input_tokens) == (True, 7)


async def embedded(server: OpenAIServer, timeout_s: float = 20.0, retries: int = 0) -> Embedded:
    """Return what a library's own object embeds."""
    async with httpx.AsyncClient() as client:
        embeddings = OpenAIEmbeddings(
            model="m",
            api_key=SecretStr(KEY),
            base_url=server.base_url,
            max_retries=retries,
            http_async_client=client,
            check_embedding_ctx_length=False,
        )
        return await LangChainEmbedder(embeddings, timeout_s=timeout_s).embed(["a"])


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_a_busy_embedder_of_a_library_is_asked_once_more(status: int) -> None:
    """And not a third time: the second refusal is told, and costs nothing."""
    vectors = RawReply.json({"object": "list", "data": [{"index": 0, "embedding": [3.0, 4.0]}]})
    with OpenAIServer(embeddings=[busy(status), vectors]) as server:
        found = await embedded(server)
    assert found.vectors.tolist() == pytest.approx(np.array([[0.6, 0.8]]))
    assert len(server.requests) == 2
    with OpenAIServer(embeddings=[busy(status)]) as server, pytest.raises(ModelError) as told:
        await embedded(server)
    assert len(server.requests) == 2
    assert not told.value.may_be_billed
    assert ("throttled" if status == 429 else f"HTTP {status}") in str(told.value)


@pytest.mark.parametrize(
    ("reply", "made"),
    [
        (busy(429, "3600"), {}),
        (busy(503, "2"), {"timeout_s": 1.9}),
        (QUOTA_USED_UP, {}),
        (SERVER_ERROR, {}),
    ],
)
async def test_an_embedder_of_a_library_is_not_asked_in_vain(reply: Any, made: Any) -> None:
    """A wait that ends after the time limit, a quota without money, a failure of another kind."""
    with OpenAIServer(embeddings=[reply]) as server, pytest.raises(ModelError):
        await embedded(server, **made)
    assert len(server.requests) == 1


async def test_an_embedder_with_its_own_retries_is_not_retried_on_top() -> None:
    """One of its own makes two requests, not four."""
    with OpenAIServer(embeddings=[busy(429)]) as server, pytest.raises(ModelError):
        await embedded(server, retries=1)
    assert len(server.requests) == 2


class Overloaded(GenericFakeChatModel):
    """As ChatAnthropic, with the vendor's own client, before an endpoint that is overloaded."""

    asked: list[int] = Field(default_factory=list)

    async def _agenerate(self, *_args: Any, **_options: Any) -> Any:
        self.asked.append(529)
        request = httpx.Request("POST", "https://anthropic.example/v1/messages")
        body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        response = httpx.Response(529, json=body, headers={"retry-after": "0"}, request=request)
        raise anthropic.APIStatusError("Overloaded", response=response, body=body)


async def test_an_overloaded_anthropic_is_asked_once_more_and_told() -> None:
    """Status 529 is theirs alone; nothing was billed."""
    model = Overloaded(messages=iter(()))
    with pytest.raises(ModelError, match="HTTP 529") as told:
        await LangChainQueryModel(model, timeout_s=20.0).chat([ChatMessage("user", "Tea?")])
    assert len(model.asked) == 2
    assert not told.value.may_be_billed
