"""`collection-search run` with a key that the chat model refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.settings.process_defaults import process_settings
from collection_search.testing import OpenAIServer
from collection_search.testing.openai_server import KEY_REFUSED
from collection_search.testing.provider_server import ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Invoke

OPTIONS = ("--model", "openai:gpt-4o-mini", "--embeddings", "lexical")


@pytest.fixture
def tavily(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with OpenAIServer(KEY_REFUSED) as model, ProviderServer("tavily") as provider:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("TAVILY_API_KEY", provider.key)
        monkeypatch.setenv("TAVILY_BASE_URL", provider.base_url)
        process_settings.cache_clear()
        yield provider


@pytest.mark.parametrize("review", [(), ("--review",)])
def test_the_command_stops_before_searches_are_paid(
    run: Invoke, tavily: ProviderServer, review: tuple[str, ...]
) -> None:
    """With both ways out: the variable of the key, and the option."""
    ended = run(*OPTIONS, *review, provider="tavily")
    assert ended.code == 4
    assert "refused the key. Check OPENAI_API_KEY." in ended.err
    assert "--model-optional" in ended.err
    assert tavily.requests == []


def test_a_model_that_is_optional_is_done_without(run: Invoke, tavily: ProviderServer) -> None:
    """The run says so and goes on; the next command that it prints does the same."""
    ended = run(*OPTIONS, "--model-optional", provider="tavily", question="asyncio")
    assert ended.code == 0
    assert "deterministic queries were used" in ended.err
    assert "--auto-ingest --model-optional" in ended.out
    assert tavily.requests
