"""Models of other vendors by name, through their LangChain packages."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...errors import ConfigError, MissingExtraError
from ...text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class VendorClass:
    """A vendor's LangChain class and its parameter for the model's name."""

    module: str
    name: str
    parameter: str = "model"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def package(self) -> str:
        """The module that `package_name` installs."""
        return self.module.partition(".")[0]

    @property
    def package_name(self) -> str:
        """The name for pip."""
        return self.package.replace("_", "-")


@dataclass(frozen=True, slots=True)
class VendorTable:
    """The classes of one kind by vendor; `factory` of the package `langchain` knows the rest."""

    kind: str
    classes: Mapping[str, VendorClass]
    factory: tuple[str, str, str]
    """Module, function, and the name of its argument for the vendor."""


CHAT: Final = VendorTable(
    "chat model",
    {
        "anthropic": VendorClass("langchain_anthropic", "ChatAnthropic"),
        "azure_openai": VendorClass("langchain_openai", "AzureChatOpenAI"),
        "bedrock_converse": VendorClass("langchain_aws", "ChatBedrockConverse"),
        "cohere": VendorClass("langchain_cohere", "ChatCohere"),
        "deepseek": VendorClass("langchain_deepseek", "ChatDeepSeek"),
        "fireworks": VendorClass("langchain_fireworks", "ChatFireworks"),
        "google_genai": VendorClass("langchain_google_genai", "ChatGoogleGenerativeAI"),
        "google_vertexai": VendorClass("langchain_google_vertexai", "ChatVertexAI"),
        "groq": VendorClass("langchain_groq", "ChatGroq"),
        "mistralai": VendorClass("langchain_mistralai", "ChatMistralAI"),
        "ollama": VendorClass("langchain_ollama", "ChatOllama"),
        "openrouter": VendorClass("langchain_openrouter", "ChatOpenRouter"),
        "together": VendorClass("langchain_together", "ChatTogether"),
        "xai": VendorClass("langchain_xai", "ChatXAI"),
    },
    ("langchain.chat_models", "init_chat_model", "model_provider"),
)
EMBEDDINGS: Final = VendorTable(
    "embedding model",
    {
        "azure_openai": VendorClass(
            "langchain_openai",
            "AzureOpenAIEmbeddings",
            options={"check_embedding_ctx_length": False},  # it would download a tokenizer
        ),
        "bedrock": VendorClass("langchain_aws", "BedrockEmbeddings", "model_id"),
        "cohere": VendorClass("langchain_cohere", "CohereEmbeddings"),
        "google_genai": VendorClass("langchain_google_genai", "GoogleGenerativeAIEmbeddings"),
        "google_vertexai": VendorClass("langchain_google_vertexai", "VertexAIEmbeddings"),
        "huggingface": VendorClass("langchain_huggingface", "HuggingFaceEmbeddings", "model_name"),
        "mistralai": VendorClass("langchain_mistralai", "MistralAIEmbeddings"),
        "ollama": VendorClass("langchain_ollama", "OllamaEmbeddings"),
    },
    ("langchain.embeddings", "init_embeddings", "provider"),
)


def make_vendor_model(table: VendorTable, vendor: str, model: str) -> Any:
    """Return the LangChain object of `vendor:model`, which takes its key from the environment.

    Imports the vendor's package, so it may take seconds. Raises ConfigError for a vendor that is
    not known or a model that cannot be set up, MissingExtraError naming the package to install.
    """
    if not model:
        raise ConfigError(f"No {table.kind} is named. Write {vendor}:<model>.")
    try:
        if entry := table.classes.get(vendor):
            return _built(table, entry, vendor, model)
        return _factory(table, vendor)(model, **{table.factory[2]: vendor})
    except ConfigError:
        raise
    except ImportError as error:
        raise MissingExtraError(
            f"A package that the {table.kind} {vendor}:{model} needs is missing:"
            f" {redact(str(error))}"
        ) from error
    except Exception as error:
        raise ConfigError(
            f"The {table.kind} {vendor}:{model} cannot be set up. Check the variables that "
            f"{vendor} asks for: {redact(str(error), most=300)}"
        ) from error


def _built(table: VendorTable, entry: VendorClass, vendor: str, model: str) -> Any:
    if not _installed(entry.package):
        raise MissingExtraError(
            f"The {table.kind} {vendor}:{model} needs the package {entry.package_name}. "
            f"Run: pip install {entry.package_name}"
        )
    cls = getattr(importlib.import_module(entry.module), entry.name)
    options = {entry.parameter: model, **entry.options}
    if "max_retries" in getattr(cls, "model_fields", {}):  # the one retry is ours
        options["max_retries"] = 0
    return cls(**options)


def _factory(table: VendorTable, vendor: str) -> Any:
    """Return LangChain's own function for all vendors. Raises ConfigError without its package."""
    module, function, _ = table.factory
    if not _installed(module.partition(".")[0]):
        raise ConfigError(
            f"There is no {table.kind} of a vendor called {vendor!r}. Known: openai, "
            f"{', '.join(sorted(table.classes))}; the package langchain knows more. "
            "Any other one may be given as a live object in Python."
        )
    return getattr(importlib.import_module(module), function)


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
