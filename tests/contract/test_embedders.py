"""Every embedder keeps the shipped contract, and the contract catches what breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from support.httpx_clients import one_way_client
from support.tiny_model import write_model

from collection_search.adapters.embeddings.langchain import LangChainEmbedder
from collection_search.adapters.embeddings.local import LocalEmbedder
from collection_search.adapters.embeddings.openai import OpenAIEmbedder
from collection_search.contracts.collection import Embedded
from collection_search.errors import ModelError
from collection_search.runtime.concurrency import run_blocking
from collection_search.settings import Settings
from collection_search.testing.embedder_contract import EmbedderContract
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.testing.openai_server import SERVER_ERROR, OpenAIServer


class TestScripted(EmbedderContract):
    """The shipped double."""

    def embedder(self):
        return ScriptedEmbedder()

    def broken(self):
        return ScriptedEmbedder(errors=[ModelError("down")])


@pytest.mark.parametrize("form", [{}, {"gives_base64": False}], ids=["base64", "lists"])
class TestOpenAI(EmbedderContract):
    """Over the wire, in both forms."""

    @pytest.fixture(autouse=True)
    def _server(self, form):
        with (
            OpenAIServer(**form) as self.server,
            OpenAIServer(embeddings=[SERVER_ERROR]) as self.bad,
        ):
            yield

    def embedder(self):
        return OpenAIEmbedder("m", base_url=self.server.base_url)

    def broken(self):
        return OpenAIEmbedder("m", base_url=self.bad.base_url)


class TestOpenAIThroughClient(TestOpenAI):
    """The same, through a client of the caller's that synchronous code used first.

    So it belongs to the background loop, which outlives those of the suite.
    """

    def embedder(self):
        embedder = OpenAIEmbedder("m", base_url=self.server.base_url, http_client=one_way_client())
        run_blocking(embedder.embed(["first"]))
        return embedder

    def broken(self):
        return OpenAIEmbedder("m", base_url=self.bad.base_url, http_client=one_way_client())


class TestLangChain(EmbedderContract):
    """A LangChain object."""

    def embedder(self):
        return LangChainEmbedder(DeterministicFakeEmbedding(size=16), "fake:16")

    def broken(self):
        return LangChainEmbedder(object(), "none")


class TestLocal(EmbedderContract):
    """A model that runs here."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        pytest.importorskip("fastembed")
        pytest.importorskip("onnx")
        self.folder = write_model(tmp_path / "tiny")
        self.spoilt = write_model(tmp_path / "spoilt")
        (self.spoilt / "model.onnx").write_bytes(b"no model")

    def embedder(self):
        return LocalEmbedder.from_settings(Settings(), model=str(self.folder))

    def broken(self):
        return LocalEmbedder.from_settings(Settings(), model=str(self.spoilt))


class Spoiling(ScriptedEmbedder):
    """Works, but for one thing."""

    def __init__(self, spoil, **given):
        super().__init__(**given)
        self.spoil = spoil

    async def embed(self, texts):
        found = await super().embed(texts)
        return self.spoil(found.vectors, found.input_tokens)


class Broken(EmbedderContract):
    """The suite on an embedder that breaks one rule at a time."""

    def __init__(self, spoil, fingerprint="mine:1"):
        self.spoil = spoil
        self.fingerprint = fingerprint

    def embedder(self):
        return Spoiling(self.spoil, fingerprint=self.fingerprint)

    def broken(self):
        return self.embedder()


def kept(vectors, tokens):
    return Embedded(vectors, tokens)


@pytest.mark.parametrize(
    ("rule", "spoil"),
    [
        ("vectors_have_unit_length", lambda vectors, tokens: vectors),
        ("vectors_have_unit_length", lambda vectors, tokens: Embedded(vectors * 2, tokens)),
        ("vectors_have_unit_length", lambda vectors, tokens: Embedded(vectors[1:], tokens)),
        ("vectors_have_unit_length", lambda vectors, tokens: Embedded(vectors, 0)),
        (
            "vectors_have_unit_length",
            lambda vectors, tokens: Embedded(vectors.astype(np.float64), tokens),
        ),
        ("rows_follow_the_texts", lambda vectors, tokens: Embedded(np.sort(vectors, 0), tokens)),
        ("any_text_has_a_vector", lambda vectors, tokens: Embedded(vectors * 0, tokens)),
        ("many_texts_keep_their_order", lambda vectors, tokens: Embedded(vectors[:64], tokens)),
        (
            "no_text_is_no_error",
            lambda vectors, tokens: Embedded(np.ones((1, 4), np.float32), tokens),
        ),
        ("calls_may_overlap", lambda vectors, tokens: Embedded(vectors * np.nan, tokens)),
        ("a_failure_is_a_model_error", kept),
    ],
)
def test_the_contract_catches(rule, spoil):
    """Each rule fails for an embedder that breaks it."""
    with pytest.raises(AssertionError):
        getattr(Broken(spoil), f"test_{rule}")()


@pytest.mark.parametrize("fingerprint", [" ", " m", "local:/home/me/model", "local:~/m", "a\nb"])
def test_the_contract_catches_a_fingerprint_that_is_none(fingerprint):
    """It is stored with the collection, and compared on another machine."""
    with pytest.raises(AssertionError):
        Broken(kept, fingerprint).test_it_has_the_form_of_an_embedder()
