"""Models of other vendors by name, through packages that are made up for the test."""

from __future__ import annotations

import sys

import pytest
from support.planning import QUERIES, failure, plan

from collection_search.adapters.embeddings.langchain import LangChainEmbedder
from collection_search.adapters.models.langchain import LangChainQueryModel
from collection_search.errors import ConfigError, MissingExtraError
from collection_search.settings import Settings

MADE_UP = ("langchain", "langchain_anthropic", "langchain_mistralai", "langchain_groq")

ANTHROPIC = f"""
from collection_search.testing.models import ScriptedChatModel

class ChatAnthropic(ScriptedChatModel):
    model: str
    max_retries: int = 2

    def __init__(self, **given):
        super().__init__(replies=[{{"queries": {QUERIES}}}], **given)
"""
MISTRAL = """
class MistralAIEmbeddings:
    def __init__(self, model):
        self.model = model

    async def aembed_documents(self, texts):
        return [[3.0, 4.0] for _ in texts]
"""
GROQ = """
class ChatGroq:
    def __init__(self, **given):
        raise ValueError("GROQ_API_KEY is not set, api_key=hunter2")
"""
LANGCHAIN = """
def init_chat_model(model, *, model_provider):
    if model_provider == "missing":
        raise ImportError("Please install it with `pip install langchain-missing`")
    if model_provider != "rare":
        raise ValueError(f"Unsupported provider {model_provider}")
    from collection_search.testing.models import ScriptedChatModel
    return ScriptedChatModel(replies=[RuntimeError("down")], model_name=model)
"""


@pytest.fixture(autouse=True)
def without_langchain(monkeypatch):
    """The package `langchain` counts as not installed, whether it is or not."""
    for name in list(sys.modules):
        if name.startswith("langchain."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "langchain", None)


@pytest.fixture
def packages(monkeypatch, tmp_path):
    """A folder on the path; packages of it are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(name: str, code: str) -> None:
        package = name.partition(".")[0]
        sys.modules.pop(package, None)
        file = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        if package != name:  # a folder without this file would not hide an installed package
            file.parent.mkdir(exist_ok=True)
            file.parent.joinpath("__init__.py").touch()
        file.write_text(code)

    yield add
    for name in list(sys.modules):
        if name.partition(".")[0] in MADE_UP:
            del sys.modules[name]


def model(vendor: str, name: str = "some-model") -> LangChainQueryModel:
    return LangChainQueryModel.from_vendor(Settings(), vendor=vendor, model=name)


def embedder(vendor: str, name: str = "some-model") -> LangChainEmbedder:
    return LangChainEmbedder.from_vendor(Settings(), vendor=vendor, model=name)


async def test_a_vendors_own_package_is_used(packages):
    """The model is told its name, and not to retry."""
    packages("langchain_anthropic", ANTHROPIC)
    claude = model("anthropic", " claude-x ")
    assert (await plan(claude)).queries == QUERIES
    chat = claude._model
    assert (chat.model, chat.max_retries) == ("claude-x", 0)


async def test_a_vendors_embeddings_are_used(packages):
    """The fingerprint is the name in the settings."""
    packages("langchain_mistralai", MISTRAL)
    mistral = embedder("mistralai", "mistral-embed")
    assert mistral.fingerprint == "mistralai:mistral-embed"
    assert (await mistral.embed(["a", "b"])).vectors.tolist() == [pytest.approx([0.6, 0.8])] * 2


@pytest.mark.parametrize(
    ("build", "vendor", "package"),
    [
        (model, "anthropic", "langchain-anthropic"),
        (model, "ollama", "langchain-ollama"),
        (model, "google_genai", "langchain-google-genai"),
        (embedder, "mistralai", "langchain-mistralai"),
        (embedder, "bedrock", "langchain-aws"),
    ],
)
def test_a_missing_package_is_named(build, vendor, package):
    """The message says what to install."""
    with pytest.raises(MissingExtraError, match=f"pip install {package}"):
        build(vendor)


@pytest.mark.parametrize("build", [model, embedder])
def test_an_unknown_vendor_lists_the_known_ones(build):
    """And the way out: a live object."""
    with pytest.raises(ConfigError, match=r"openai, .*mistralai.* live object"):
        build("no-such-vendor")


@pytest.mark.parametrize("build", [model, embedder])
def test_a_vendor_without_a_model_says_how_to_name_one(build):
    """The vendor alone does not say which model."""
    with pytest.raises(ConfigError, match="anthropic:<model>"):
        build("anthropic", " ")


async def test_the_package_langchain_knows_more_vendors(packages):
    """Its own function builds what the table does not have; failures name our settings."""
    packages("langchain.chat_models", LANGCHAIN)
    rare = model("rare", "deep:thought")
    assert rare.model_name == "deep:thought"
    assert "The model deep:thought failed: down" in await failure(rare)
    with pytest.raises(MissingExtraError, match="langchain-missing"):
        model("missing")
    with pytest.raises(ConfigError, match="Unsupported provider"):
        model("no-such-vendor")


def test_a_model_that_cannot_be_set_up_is_an_error_of_the_settings(packages):
    """Its own words are shown, without a secret."""
    packages("langchain_groq", GROQ)
    with pytest.raises(ConfigError, match="GROQ_API_KEY is not set") as caught:
        model("groq")
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
def test_azure_comes_with_the_package_that_is_installed_anyway(monkeypatch):
    """Without its variables it says so; with them nothing is asked over the network."""
    for build in (model, embedder):
        with pytest.raises(ConfigError, match="azure_openai:my-deployment cannot be set up"):
            build("azure_openai", "my-deployment")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://e.example")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    assert model("azure_openai", "my-deployment").model_name == "my-deployment"
    assert embedder("azure_openai", "my-deployment").fingerprint == "azure_openai:my-deployment"
