"""LangChain `Embeddings` objects as embedders."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_openai import AzureOpenAIEmbeddings, OpenAIEmbeddings

from collection_search.adapters.embeddings.langchain import LangChainEmbedder
from collection_search.errors import ConfigError, ModelError
from collection_search.ports import Embedder
from collection_search.settings import registry

TEXTS = ["cancel a task", "read a file"]
KEY = "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9Jj0"


class Rows(Embeddings):
    """Gives or raises what it was made with; synchronous, as many are."""

    def __init__(self, answer, model="m"):
        self.answer = answer
        self.model = model
        self.calls = []

    def embed_documents(self, texts):
        self.calls.append((texts, threading.current_thread()))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def embed_query(self, text):
        raise AssertionError("all texts are embedded alike, in one call")


class AsyncRows(Rows):
    """Has a coroutine of its own."""

    async def aembed_documents(self, texts):
        return self.embed_documents(texts)


class OnlyTheMethod:
    """No LangChain class at all."""

    model_name = "mine"

    def embed_documents(self, texts):
        return np.eye(len(texts), 5, dtype=np.float64) * 2


async def failure(answer) -> str:
    with pytest.raises(ModelError) as caught:
        await LangChainEmbedder(Rows(answer)).embed(TEXTS)
    return str(caught.value)


@pytest.mark.parametrize("kind", [Rows, AsyncRows])
async def test_rows_become_unit_vectors(kind):
    """In one call, of float32; usage is not reported by any of them."""
    embeddings = kind([[3.0, 4.0], [0.0, 2.0]])
    found = await LangChainEmbedder(embeddings).embed(TEXTS)
    assert found.vectors.dtype == np.float32
    assert np.allclose(found.vectors, [[0.6, 0.8], [0.0, 1.0]])
    assert found.input_tokens is None
    assert [texts for texts, _ in embeddings.calls] == [TEXTS]


async def test_a_synchronous_object_works_in_a_thread():
    """One with a coroutine of its own stays on the loop."""
    here = threading.current_thread()
    for kind, on_the_loop in ((Rows, False), (AsyncRows, True)):
        embeddings = kind([[1.0], [1.0]])
        await LangChainEmbedder(embeddings).embed(TEXTS)
        assert (embeddings.calls[0][1] is here) == on_the_loop


async def test_an_object_with_the_method_alone_is_enough():
    """Arrays are taken as well as lists."""
    embedder = LangChainEmbedder(OnlyTheMethod())
    assert (await embedder.embed(TEXTS)).vectors.shape == (2, 5)
    assert embedder.fingerprint == "langchain:OnlyTheMethod:mine"


@pytest.mark.parametrize(
    ("embeddings", "fingerprint"),
    [
        (Rows([], model="m-small"), "langchain:Rows:m-small"),
        (OnlyTheMethod(), "langchain:OnlyTheMethod:mine"),
        (OpenAIEmbeddings(api_key="k", model="m"), "langchain:OpenAIEmbeddings:m"),
        (
            OpenAIEmbeddings(api_key="k", model="m", base_url="https://api.openai.com/v1/"),
            "langchain:OpenAIEmbeddings:m",
        ),
    ],
)
def test_the_fingerprint_is_class_and_model(embeddings, fingerprint):
    """Or what the caller says."""
    assert LangChainEmbedder(embeddings).fingerprint == fingerprint
    assert LangChainEmbedder(embeddings, "mine:1").fingerprint == "mine:1"
    assert isinstance(LangChainEmbedder(embeddings), Embedder)


@pytest.mark.parametrize(
    "embeddings", [Rows([], model=None), DeterministicFakeEmbedding(size=4), object()]
)
def test_an_object_without_a_name_needs_a_fingerprint(embeddings):
    """Two of them would be taken for one; the message says how to name it."""
    kind = type(embeddings).__name__
    with pytest.raises(ConfigError, match=rf'LangChainEmbedder\(<the {kind}>, fingerprint="'):
        LangChainEmbedder(embeddings)
    assert LangChainEmbedder(embeddings, "mine:1").fingerprint == "mine:1"


def azure(deployment, host="one", **given):
    return AzureOpenAIEmbeddings(
        azure_deployment=deployment,
        azure_endpoint=f"https://{host}.example",
        api_key="k",
        api_version="2024-10-21",
        **given,
    )


def served_at(address):
    return OpenAIEmbeddings(api_key="k", model="m", base_url=address)


def fingerprint(embeddings) -> str:
    return LangChainEmbedder(embeddings).fingerprint


@pytest.mark.slow
def test_deployments_and_addresses_are_part_of_the_fingerprint():
    """The same name elsewhere may be another model; the address itself is not shown."""
    told = [
        fingerprint(each)
        for each in (
            azure("a"),
            azure("b"),
            azure("a", "two"),
            azure("a", model="large"),
            served_at(None),
            served_at("http://one.example/v1"),
            served_at("http://two.example/v1"),
        )
    ]
    assert len(set(told)) == len(told)
    assert told[0].startswith("langchain:AzureOpenAIEmbeddings:a:")
    assert "example" not in "".join(told)


@pytest.mark.slow
def test_the_fingerprint_does_not_depend_on_how_the_address_is_given(monkeypatch):
    """Argument, either variable, a slash at the end, a password: it is the same model."""
    given = fingerprint(served_at("http://one.example/v1"))
    assert fingerprint(served_at("http://me:secret@One.example/v1/")) == given
    for variable in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.setenv(variable, "http://one.example/v1")
        assert fingerprint(OpenAIEmbeddings(api_key="k", model="m")) == given
        monkeypatch.delenv(variable)


def test_dimensions_are_part_of_the_fingerprint():
    """A model cut short makes other vectors."""
    embeddings = Rows([], model="m")
    embeddings.dimensions = 256
    assert LangChainEmbedder(embeddings).fingerprint == "langchain:Rows:m@256"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([[1.0]], "gave 1 vectors for 2 texts"),
        ([[1.0], [1.0, 2.0]], "vectors of different lengths"),
        ([[1.0], [0.0]], "a vector of zeros"),
        ([[1.0], [float("nan")]], "NaN"),
        (None, "in place of vectors"),
        (TimeoutError(), "did not answer within 30 s"),
        (ConnectionRefusedError("refused"), "cannot be reached: refused"),
        (ValueError("no such model"), "failed: no such model."),
        (RuntimeError(f"Authorization: Bearer {KEY} is wrong"), "failed: Authorization"),
    ],
)
async def test_a_failure_is_a_model_error(answer, sentence):
    """With the cause, and without a secret."""
    told = await failure(answer)
    assert sentence in told
    assert KEY not in told


def wrapped(cause, *, by_hand=False):
    """Return a vendor's error that has this cause, stated or not."""
    try:
        try:
            raise cause
        except OSError as error:
            if by_hand:
                raise RuntimeError("the vendor failed") from error
            raise RuntimeError("the vendor failed")  # noqa: B904 - some vendors do not say it
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    "cause",
    [
        socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
        *(
            OSError(number, os.strerror(number))
            for number in (
                errno.EHOSTUNREACH,
                errno.ENETUNREACH,
                errno.ECONNREFUSED,
                errno.ECONNRESET,
            )
        ),
    ],
    ids=lambda cause: type(cause).__name__ + str(cause.errno),
)
async def test_without_a_network_the_embedder_is_unavailable(cause):
    """Whatever the vendor makes of it; its own failures say nothing about other texts."""
    for answer in (cause, wrapped(cause), wrapped(cause, by_hand=True)):
        with pytest.raises(ModelError, match="cannot be reached") as caught:
            await LangChainEmbedder(Rows(answer)).embed(TEXTS)
        assert caught.value.unavailable
        assert not caught.value.may_be_billed
    for answer in (FileNotFoundError(errno.ENOENT, "no file"), wrapped(OSError("no errno"))):
        with pytest.raises(ModelError, match="failed") as caught:
            await LangChainEmbedder(Rows(answer)).embed(TEXTS)
        assert not caught.value.unavailable


async def test_a_dimension_may_change_between_calls():
    """The collections look at it: another model may have the name by now."""
    embeddings = Rows([[1.0, 0.0], [0.0, 1.0]])
    embedder = LangChainEmbedder(embeddings)
    await embedder.embed(TEXTS)
    embeddings.answer = [[1.0], [1.0]]
    assert (await embedder.embed(TEXTS)).vectors.shape == (2, 1)


async def test_the_dimension_is_remembered_for_the_object():
    """A host wraps it anew at every run; an object set to other dimensions is another model."""
    embeddings = Rows([[1.0, 0.0], [0.0, 1.0]])
    await LangChainEmbedder(embeddings).embed(TEXTS)
    assert (await LangChainEmbedder(embeddings).embed([])).vectors.shape == (0, 2)
    embeddings.answer, embeddings.dimensions = [[1.0], [1.0]], 1
    assert (await LangChainEmbedder(embeddings).embed(TEXTS)).vectors.shape == (2, 1)


async def test_an_object_without_a_limit_gets_ours():
    """A thread that never ends is left to itself."""
    never = threading.Event()

    class Sleeping:
        def embed_documents(self, texts):
            never.wait(60)
            return [[1.0]] * len(texts)

    try:
        with pytest.raises(ModelError, match=r"did not answer within 0\.05 s"):
            await LangChainEmbedder(Sleeping(), "mine", timeout_s=0.05).embed(TEXTS)
    finally:
        never.set()


async def test_many_calls_at_once_keep_their_vectors():
    """Fifty calls of a synchronous object share nothing that could mix them."""
    embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=8), "fake")
    texts = [f"text {n}" for n in range(50)]
    together = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    alone = (await embedder.embed(texts)).vectors
    assert all(np.allclose(each.vectors[0], row) for each, row in zip(together, alone, strict=True))


async def test_no_text_needs_no_call():
    """Nothing is asked for nothing."""
    embeddings = Rows([])
    assert len((await LangChainEmbedder(embeddings).embed([])).vectors) == 0
    assert embeddings.calls == []


def test_the_registry_knows_it():
    """For live objects."""
    assert registry.load_adapter("embeddings", "langchain") is LangChainEmbedder
