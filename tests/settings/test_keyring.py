"""Keys in the system's keyring: stored, read, removed, and never touched without need."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from typing import TYPE_CHECKING

import keyring
import keyring.errors
import pytest
from keyring.backends import null

from collection_search import SearchContext
from collection_search.errors import ConfigError, MissingExtraError
from collection_search.settings import Settings
from collection_search.settings import keyring as keys
from collection_search.settings.adapter_factory import is_traced, make_adapter
from collection_search.settings.provider_choice import choose_provider
from collection_search.testing import ProviderServer
from collection_search.testing.keyring import MemoryKeyring
from collection_search.testing.providers.wire import KEY as SERVERS_KEY
from collection_search.tools.service import WebSearchService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "tvly-0123456789-the-stored-one"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder, which is the settings' own."""
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def memory() -> Iterator[MemoryKeyring]:
    with MemoryKeyring() as memory:
        yield memory


def test_a_stored_key_is_read_by_its_entry(home: Path, memory: MemoryKeyring) -> None:
    """Entries have the specified names; the index holds names alone."""
    for name in ("tavily", "brave", "serper"):
        keys.store_key(home, name, f"{KEY}-{name}")
    assert {entry for _, entry in memory.entries} == {
        "tavily_api_key",
        "brave_search_api_key",
        "serper_api_key",
    }
    assert {service for service, _ in memory.entries} == {"collection-search"}
    assert keys.stored_names(home) == {"tavily", "brave", "serper"}
    assert KEY not in (home / keys.INDEX_FILE).read_text()
    assert keys.read_key("brave") == f"{KEY}-brave"


def test_storing_twice_names_once(home: Path, memory: MemoryKeyring) -> None:
    """The last key counts."""
    keys.store_key(home, "tavily", "an-old-one")
    keys.store_key(home, "tavily", KEY)
    assert keys.read_key("tavily") == KEY
    assert (home / keys.INDEX_FILE).read_text() == "tavily\n"


def test_removing_leaves_nothing(home: Path, memory: MemoryKeyring) -> None:
    """Neither entry nor name stays; a second time says that there was none."""
    keys.store_key(home, "tavily", KEY)
    keys.store_key(home, "brave", KEY)
    assert keys.remove_key(home, "tavily") is True
    assert keys.stored_names(home) == {"brave"}
    assert keys.remove_key(home, "tavily") is False
    assert keys.remove_key(home, "brave") is True
    assert not list(home.iterdir())
    assert not memory.entries


def test_what_was_read_is_remembered(home: Path, memory: MemoryKeyring) -> None:
    """The keyring is asked once a process, for a key as for a failure."""
    keys.store_key(home, "tavily", KEY)
    keys.clear_cache()
    memory.calls.clear()
    assert [keys.read_key("tavily") for _ in range(3)] == [KEY] * 3
    memory.error = keyring.errors.KeyringLocked("no")
    for _ in range(3):
        with pytest.raises(ConfigError, match="locked"):
            keys.read_key("brave")
    assert memory.calls == ["tavily_api_key", "brave_search_api_key"]


def test_environment_then_file_then_keyring(
    home: Path, memory: MemoryKeyring, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The stored key is the last choice, and keeps the address of the settings."""
    keys.store_key(home, "tavily", KEY)
    file = tmp_path / "settings.yaml"
    file.write_text("providers: {tavily: {base_url: 'http://proxy'}}\n")
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(file))
    access = Settings.load().access("tavily")
    assert access.api_key is not None
    assert (access.api_key.get_secret_value(), access.base_url) == (KEY, "http://proxy")
    file.write_text("providers: {tavily: {api_key: of-the-file}}\n")
    assert "of-the-file" in repr(
        Settings.load().access("tavily").model_dump()["api_key"].get_secret_value()
    )
    monkeypatch.setenv("TAVILY_API_KEY", "of-the-environment")
    access = Settings.load().access("tavily")
    assert access.api_key is not None
    assert access.api_key.get_secret_value() == "of-the-environment"
    assert KEY not in repr(Settings.load())


def test_models_and_tracing_take_stored_keys(home: Path, memory: MemoryKeyring) -> None:
    """OpenAI's key, that of another endpoint of embeddings, and Langfuse's secret one."""
    for name in ("openai", "embeddings", "langfuse"):
        keys.store_key(home, name, f"{KEY}-{name}")
    settings = Settings.load(langfuse_public_key="pk-1")
    found = settings.openai_key(), settings.embeddings_key(), settings.langfuse_key()
    assert [key.get_secret_value() for key in found if key] == [
        f"{KEY}-{name}" for name in ("openai", "embeddings", "langfuse")
    ]
    assert ("collection-search", "langfuse_secret_key") in memory.entries
    assert is_traced(settings)
    assert make_adapter(settings, "models", "openai:gpt-4o-mini")
    assert make_adapter(settings, "embeddings", "openai:text-embedding-3-small")


async def test_without_a_stored_name_the_keyring_is_left_alone(
    home: Path, memory: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for `auto` nor for a provider is it asked, nor is its library imported."""
    memory.entries["collection-search", "tavily_api_key"] = KEY
    monkeypatch.setitem(sys.modules, "keyring", None)
    settings = Settings.load()
    assert (await choose_provider(settings))[0] == "offline"
    assert settings.access("tavily").api_key is None
    assert settings.openai_key() is None
    assert not memory.calls


@pytest.mark.slow
async def test_the_keyring_is_read_off_the_event_loop(home: Path) -> None:
    """It may wait for a person who unlocks it, which must hold up no other run."""

    class Watched(MemoryKeyring):
        def get_password(self, service: str, username: str) -> str | None:
            with pytest.raises(RuntimeError, match="no running event loop"):
                asyncio.get_running_loop()
            return super().get_password(service, username)

    names = ("brave", "openai", "langfuse")
    (home / keys.INDEX_FILE).write_text("\n".join(names))
    with Watched({keys.entry_of(name): KEY for name in names}) as watched:
        settings = Settings.load(
            langfuse_public_key="pk-1",
            langfuse_base_url="http://127.0.0.1:9",
            model="openai:gpt-4o-mini",
            embeddings="openai:text-embedding-3-small",
        )
        context = SearchContext(settings=settings)
        assert (await context.search_provider()).adapter.provider_name == "brave"
        assert await context.query_model()
        assert await context.embedder()
        await context.sink()
    assert set(watched.calls) == {keys.entry_of(name) for name in names}


async def test_auto_takes_a_stored_key(home: Path, memory: MemoryKeyring) -> None:
    """A provider with a stored key is configured, and the reason says where from."""
    keys.store_key(home, "brave", KEY)
    assert await choose_provider(Settings.load()) == (
        "brave",
        "the first that is configured: its key is in the keyring",
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (keyring.errors.KeyringLocked("dismissed"), "is locked: unlock it"),
        (keyring.errors.NoKeyringError("none"), "has no keyring"),
        (OSError("no bus"), r"cannot be used \(OSError\)"),
        (None, "no longer has the entry brave_search_api_key"),
    ],
)
async def test_a_keyring_that_fails(
    home: Path, error: Exception | None, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Who names the provider gets the reason; `auto` passes it over with a warning."""
    (home / keys.INDEX_FILE).write_text("brave\n")
    with MemoryKeyring(error=error), caplog.at_level(logging.WARNING):
        settings = Settings.load()
        with pytest.raises(ConfigError, match=said):
            make_adapter(settings, "search", "brave")
        name, reason = await choose_provider(settings)
    assert name == "offline"
    assert "brave was passed over" in reason
    assert "brave is passed over" in caplog.text
    if error is not None:
        assert "BRAVE_API_KEY" in reason


async def test_a_keyring_that_fails_does_not_hide_a_later_provider(home: Path) -> None:
    """What is configured behind it is taken."""
    (home / keys.INDEX_FILE).write_text("tavily\n")
    with MemoryKeyring(error=keyring.errors.KeyringLocked()):
        settings = Settings.load(providers={"exa": {"api_key": "x"}})
        assert (await choose_provider(settings))[0] == "exa"


def test_without_the_library_the_extra_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Setting, reading and removing say what to install, and which variable does it too."""
    (home / keys.INDEX_FILE).write_text("tavily\n")
    keys.clear_cache()
    monkeypatch.setitem(sys.modules, "keyring", None)
    for call in (
        lambda: keys.store_key(home, "tavily", KEY),
        lambda: keys.remove_key(home, "tavily"),
        lambda: Settings.load().access("tavily"),
    ):
        with pytest.raises(MissingExtraError, match=r"\[keyring\].*TAVILY_API_KEY") as caught:
            call()
        assert KEY not in str(caught.value)
    keys.clear_cache()


def test_an_error_that_repeats_the_key_is_not_chained(home: Path) -> None:
    """Neither the message nor the traceback shows it, and nothing is in the index."""
    with MemoryKeyring(error=OSError(f"cannot write {KEY}")), pytest.raises(ConfigError) as caught:
        keys.store_key(home, "tavily", KEY)
    shown = "".join(traceback.format_exception(caught.value))
    assert "OSError" in str(caught.value)
    assert KEY not in shown.replace(f'KEY = "{KEY}"', "")
    assert not keys.stored_names(home)


def test_a_keyring_that_keeps_nothing_is_told(home: Path, memory: MemoryKeyring) -> None:
    """The library has a backend that swallows everything."""
    keyring.set_keyring(null.Keyring())
    with pytest.raises(ConfigError, match="keeps nothing"):
        keys.store_key(home, "tavily", KEY)
    assert not keys.stored_names(home)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_an_index_that_cannot_be_read_names_nothing(home: Path, content: bytes | None) -> None:
    """What is wrong with the folder is told where it is written to."""
    if content is None:
        (home / keys.INDEX_FILE).mkdir()
    else:
        (home / keys.INDEX_FILE).write_bytes(content)
    assert keys.stored_names(home) == frozenset()


@pytest.mark.parametrize(
    ("name", "entry"), [("tavily", "tavily_api_key"), ("brave", "brave_search_api_key")]
)
def test_the_service_searches_with_a_key_that_a_user_added(
    home: Path, memory: MemoryKeyring, name: str, entry: str
) -> None:
    """Credential Management: a user adds a key once, secure storage keeps it, a search takes it."""
    with ProviderServer(name) as server:
        keys.store_key(home, name, SERVERS_KEY)
        keys.clear_cache()  # as after a restart
        given = Settings(default_provider=name, providers={name: {"base_url": server.base_url}})
        asked = {"query": "asyncio", "options": {"includeContent": False}}
        assert WebSearchService(given).search(asked).results
        assert SERVERS_KEY in str(server.requests[-1].headers)
    assert set(memory.calls) == {entry}
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert files
    assert not any(SERVERS_KEY.encode() in content for content in files)
