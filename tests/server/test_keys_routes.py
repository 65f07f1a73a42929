"""Keys over the API: written, used at once and after a restart, removed, and never read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import keyring
import keyring.errors
import pytest
from keyrings.alt.file import PlaintextKeyring
from support.api_client import ONE, TWO, as_caller, open_api

from collection_search.context import SearchContext
from collection_search.ports.description import describe
from collection_search.settings import keyring as keys
from collection_search.settings.process_defaults import process_settings
from collection_search.testing.keyring import MemoryKeyring
from collection_search.testing.provider_server import ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

pytestmark = pytest.mark.usefixtures("operated_by_one")

KEY = "tvly-0123456789-the-stored-wxyz"
OTHER_KEY = "tvly-9876543210-the-second-abcd"
_AFTER_RESTART = """
from collection_search.settings.process_defaults import process_settings
access = process_settings().access("tavily")
print(access.api_key.get_secret_value() if access.api_key else "none")
"""


@pytest.fixture
def memory() -> Iterator[MemoryKeyring]:
    with MemoryKeyring() as memory:
        yield memory


@pytest.fixture
def kept_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keys in a file of the test, by a real backend, here and in processes that are started."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
    before = keyring.get_keyring()
    keyring.set_keyring(PlaintextKeyring())
    keys.clear_cache()
    yield
    keyring.set_keyring(before)
    keys.clear_cache()


def _restarted() -> str:
    """Return the key that a new process takes."""
    command = [sys.executable, "-c", _AFTER_RESTART]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.usefixtures("kept_in_files")
async def test_a_key_is_used_after_a_restart_until_it_is_removed(api: httpx.AsyncClient) -> None:
    """In a real keyring, whose file another process reads."""
    assert _restarted() == "none"
    assert (await api.put("/keys/tavily", json={"key": KEY})).status_code == 204
    assert _restarted() == KEY
    shown = (await api.get("/keys")).json()
    assert shown["keys"] == [
        {"name": "tavily", "source": "keyring", "ending": "wxyz", "problem": None}
    ]
    assert shown["keyring"] == {"usable": True, "reason": None}
    assert (await api.delete("/keys/tavily")).status_code == 204
    assert _restarted() == "none"
    assert (await api.get("/keys")).json()["keys"] == []


@pytest.mark.usefixtures("memory")
async def test_the_running_server_uses_the_new_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and another one in its place, although adapters and settings are cached."""
    with ProviderServer("tavily") as server:
        monkeypatch.setenv("TAVILY_BASE_URL", server.base_url)
        async with open_api() as api:
            settings = process_settings()
            adapters = []
            for key in (KEY, OTHER_KEY):
                assert (await api.put("/keys/tavily", json={"key": key})).status_code == 204
                adapters.append((await SearchContext(provider="tavily").search_provider()).adapter)
                access = process_settings().access("tavily")
                assert access.api_key is not None
                assert access.api_key.get_secret_value() == key
    assert describe(adapters[0]).info.source != describe(adapters[1]).info.source
    assert process_settings() is settings


async def test_no_answer_has_a_key(api: httpx.AsyncClient, memory: MemoryKeyring) -> None:
    """Not of a stored one, and not of one that is refused."""
    answers = [
        await api.put("/keys/tavily", json={"key": KEY}),
        await api.put("/keys/tavily", json={"key": f"{KEY} {KEY}"}),
        await api.put("/keys/tavily", json={"key": [KEY]}),
        await api.put("/keys/tavily", json={"keys": KEY}),
        await api.put("/keys/tavily", json=KEY),
        await api.put("/keys/tavily", json={"key": KEY * 1000}),
        await api.put(f"/keys/{KEY}", json={"key": "short"}),
        await api.get("/keys"),
        await api.get("/settings"),
    ]
    assert [one.status_code for one in answers] == [204, *[422] * 5, 404, 200, 200]
    assert not [one.text for one in answers if KEY in one.text]
    assert list(memory.entries.values()) == [KEY]


async def test_without_a_keyring_the_reason_is_told(api: httpx.AsyncClient) -> None:
    """And which variable to set instead."""
    with MemoryKeyring(error=keyring.errors.NoKeyringError()):
        refused = await api.put("/keys/tavily", json={"key": KEY})
    assert refused.status_code == 400
    assert "no keyring" in refused.json()["error"]["message"]
    assert "TAVILY_API_KEY" in refused.json()["error"]["message"]
    assert not process_settings().stored_keys


async def test_a_machine_without_a_keyring_says_so_in_the_list(api: httpx.AsyncClient) -> None:
    from keyring.backends.fail import Keyring

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())  # type: ignore[no-untyped-call]
    try:
        state = (await api.get("/keys")).json()["keyring"]
    finally:
        keyring.set_keyring(before)
    assert state["usable"] is False
    assert "no keyring" in state["reason"]


@pytest.mark.usefixtures("memory")
async def test_a_key_that_would_not_be_used_is_not_stored(
    monkeypatch: pytest.MonkeyPatch, memory: MemoryKeyring
) -> None:
    """The environment's is taken before the keyring's."""
    monkeypatch.setenv("TAVILY_API_KEY", "another-key-of-the-environment")
    async with open_api() as api:
        refused = await api.put("/keys/tavily", json={"key": KEY})
        assert refused.status_code == 409
        assert "TAVILY_API_KEY" in refused.json()["error"]["message"]
        assert not memory.entries


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("is_right", "state", "key"), [(True, "ok", "valid"), (False, "failed", "refused")]
)
async def test_a_key_is_tried(
    monkeypatch: pytest.MonkeyPatch, is_right: bool, state: str, key: str
) -> None:
    """By the provider's free call, with what the doctor says of it."""
    with ProviderServer("tavily") as server:
        monkeypatch.setenv("TAVILY_BASE_URL", server.base_url)
        async with open_api() as api:
            given = server.key if is_right else KEY
            assert (await api.put("/keys/tavily", json={"key": given})).status_code == 204
            finding = (await api.post("/keys/tavily/check")).json()
    assert (finding["state"], finding["key"]) == (state, key)
    assert finding["configured_by"].startswith("the keyring")


async def test_names_that_take_no_key_are_unknown(api: httpx.AsyncClient) -> None:
    for answer in (
        await api.put("/keys/wikipedia", json={"key": KEY}),
        await api.delete("/keys/nobody"),
        await api.post("/keys/nobody/check"),
    ):
        assert answer.status_code == 404
        assert "tavily" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("tenant", "role"), [(ONE, "viewer"), (ONE, "reviewer"), (TWO, "admin")])
async def test_only_the_operator_sees_and_sets_keys(
    api: httpx.AsyncClient, tenant: str, role: str
) -> None:
    """An admin of another tenant does not: every tenant's runs use the keys."""
    caller = as_caller(tenant, role)
    statuses = [
        (await api.get("/keys", **caller)).status_code,
        (await api.put("/keys/tavily", json={"key": KEY}, **caller)).status_code,
        (await api.post("/keys/tavily/check", **caller)).status_code,
        (await api.delete("/keys/tavily", **caller)).status_code,
    ]
    assert statuses == [403] * 4
    assert KEY not in json.dumps(dict(os.environ))
