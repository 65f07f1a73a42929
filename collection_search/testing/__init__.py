"""Doubles and contract suites for tests of programs that use this package, and for its own.

None of them needs a network, a key or a test framework's patching. The contract suites of
stores and of HTTP adapters need pytest; without it `import *` leaves them out.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .clock import FakeClock
    from .embedder_contract import EmbedderContract
    from .embeddings import ScriptedEmbedder
    from .http_search import HttpSearchAdapterContract
    from .ingestion import RecordingTrigger
    from .models import ScriptedAnswerModel, ScriptedChatModel, ScriptedQueryModel
    from .openai_server import OpenAIServer, ScriptedToolCalls
    from .otlp import OtlpServer
    from .provider_server import ProviderServer
    from .search_adapter import (
        ReceivedQuery,
        ScriptedAdapter,
        SearchAdapterContract,
        example_context,
        rows,
    )
    from .search_service import MockWebSearchService, service_error, service_results
    from .stores import (
        CollectionStoreContract,
        GateStoreContract,
        LedgerContract,
        StagingContract,
        UsageContract,
    )
    from .tracing import RecordingSink

__all__ = [
    "CollectionStoreContract",
    "EmbedderContract",
    "FakeClock",
    "GateStoreContract",
    "HttpSearchAdapterContract",
    "LedgerContract",
    "MockWebSearchService",
    "OpenAIServer",
    "OtlpServer",
    "ProviderServer",
    "ReceivedQuery",
    "RecordingSink",
    "RecordingTrigger",
    "ScriptedAdapter",
    "ScriptedAnswerModel",
    "ScriptedChatModel",
    "ScriptedEmbedder",
    "ScriptedQueryModel",
    "ScriptedToolCalls",
    "SearchAdapterContract",
    "StagingContract",
    "UsageContract",
    "example_context",
    "rows",
    "service_error",
    "service_results",
]

_MODULES: Final = {
    "CollectionStoreContract": "stores",
    "EmbedderContract": "embedder_contract",
    "FakeClock": "clock",
    "GateStoreContract": "stores",
    "HttpSearchAdapterContract": "http_search",
    "LedgerContract": "stores",
    "MockWebSearchService": "search_service",
    "OpenAIServer": "openai_server",
    "OtlpServer": "otlp",
    "ProviderServer": "provider_server",
    "ReceivedQuery": "search_adapter",
    "RecordingSink": "tracing",
    "RecordingTrigger": "ingestion",
    "ScriptedAdapter": "search_adapter",
    "ScriptedAnswerModel": "models",
    "ScriptedChatModel": "models",
    "ScriptedEmbedder": "embeddings",
    "ScriptedQueryModel": "models",
    "ScriptedToolCalls": "openai_server",
    "SearchAdapterContract": "search_adapter",
    "StagingContract": "stores",
    "UsageContract": "stores",
    "example_context": "search_adapter",
    "rows": "search_adapter",
    "service_error": "search_service",
    "service_results": "search_service",
}
"""Where each public name lives: a module is imported when one of its names is used."""

_OF_PYTEST: Final = ("http_search", "stores")

if importlib.util.find_spec("pytest") is None:
    __all__[:] = [name for name in __all__ if _MODULES[name] not in _OF_PYTEST]


def __getattr__(name: str) -> Any:
    if module := _MODULES.get(name):
        try:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
        except ModuleNotFoundError as error:
            if error.name != "pytest":
                raise
            told = f"{name} is a suite of tests for pytest. Install it: pip install pytest"
            raise ModuleNotFoundError(told, name="pytest") from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
