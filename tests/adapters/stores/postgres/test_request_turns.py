"""Turns of sites that several processes take."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest
from support.ports import closed_port
from support.postgres_server import NEEDS_POSTGRES

from collection_search.errors import StoreError
from collection_search.ports.pages import RequestTurns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.postgres_server import PostgresServer

    from collection_search.adapters.stores.postgres.request_turns import PostgresRequestTurns

pytestmark = NEEDS_POSTGRES
SLACK_S = 5.0
"""A busy machine takes so long between two statements at most."""


@pytest.fixture
def pair(
    server: PostgresServer, schema: str
) -> Iterator[tuple[PostgresRequestTurns, PostgresRequestTurns]]:
    """The turns of two processes."""
    from collection_search.adapters.stores.postgres.request_turns import PostgresRequestTurns

    one, other = (PostgresRequestTurns(server.url, schema=schema) for _ in range(2))
    yield one, other
    one.close()
    other.close()


def test_a_turn_is_given_once(pair: tuple[RequestTurns, RequestTurns]) -> None:
    """Of two processes each waits for the other; other sites have their own turns."""
    one, other = pair
    assert isinstance(one, RequestTurns)
    assert one.take("a.example", 60.0, 600.0) == 0.0
    assert 60 - SLACK_S < other.take("a.example", 60.0, 600.0) <= 60
    assert 120 - SLACK_S < one.take("a.example", 60.0, 600.0) <= 120
    assert other.take("b.example", 60.0, 600.0) == 0.0


def test_many_at_once_have_turns_of_their_own(pair: tuple[RequestTurns, RequestTurns]) -> None:
    """However many ask at the same moment, no turn is taken twice."""
    with ThreadPoolExecutor(8) as pool:
        waits = pool.map(lambda n: pair[n % 2].take("many.example", 60.0, 6000.0), range(24))
    found = sorted(waits)
    assert found[0] == 0.0
    assert all(60 - SLACK_S < b - a < 60 + SLACK_S for a, b in itertools.pairwise(found))


def test_a_turn_that_is_too_far_away_is_not_taken(pair: tuple[RequestTurns, RequestTurns]) -> None:
    """So those who do not wait for it delay nobody."""
    one, other = pair
    one.take("a.example", 60.0, 600.0)
    for _ in range(5):
        assert 60 - SLACK_S < other.take("a.example", 60.0, 10.0) <= 60
    assert 60 - SLACK_S < one.take("a.example", 60.0, 600.0) <= 60


def test_a_site_that_asks_for_time_has_it_from_all(pair: tuple[RequestTurns, RequestTurns]) -> None:
    """A shorter wait does not replace a longer one."""
    one, other = pair
    one.hold("a.example", 300.0)
    one.hold("a.example", 30.0)
    assert 300 - SLACK_S < other.take("a.example", 1.0, 600.0) <= 300


def test_sites_that_nobody_asks_are_forgotten(
    server: PostgresServer,
    schema: str,
    pair: tuple[PostgresRequestTurns, PostgresRequestTurns],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The table does not grow with every site that was ever asked."""
    from collection_search.adapters.stores.postgres import request_turns

    monkeypatch.setattr(request_turns, "PRUNE_EVERY", 2)
    one, _ = pair
    with psycopg.connect(server.url, autocommit=True) as admin:
        one.take("new.example", 1.0, 60.0)
        old = f"INSERT INTO {schema}.request_turns VALUES ('old.example', now() - interval '2 h')"
        admin.execute(old.encode())
        one.take("new.example", 1.0, 60.0)
        rows = admin.execute(f"SELECT site FROM {schema}.request_turns".encode()).fetchall()
    assert rows == [("new.example",)]


def test_a_schema_of_version_1_gets_the_turns(
    server: PostgresServer, schema: str, pair: tuple[RequestTurns, RequestTurns]
) -> None:
    """A database of an earlier version is migrated by the next process; its contents stay."""
    from collection_search.adapters.stores.postgres.database import PostgresDatabase

    PostgresDatabase(server.url, schema=schema).close()
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"DROP TABLE {schema}.request_turns".encode())
        admin.execute(f"UPDATE {schema}.schema_version SET version = 1".encode())
        admin.execute(f"INSERT INTO {schema}.quotas VALUES ('brave', 'k', '2026-11', 7)".encode())
        database = PostgresDatabase(server.url, schema=schema)
        assert database.found_version == 1
        database.close()
        assert pair[0].take("a.example", 1.0, 60.0) == 0.0
        kept = admin.execute(f"SELECT used FROM {schema}.quotas".encode()).fetchall()
    assert kept == [(7,)]


def test_a_database_that_does_not_run_is_named() -> None:
    """The error is typed, so that the fetch goes on without it."""
    from collection_search.adapters.stores.postgres.request_turns import PostgresRequestTurns

    with closed_port() as port:
        turns = PostgresRequestTurns(f"postgresql://me:db-secret@127.0.0.1:{port}/x")
        with pytest.raises(StoreError, match=str(port)) as refused:
            turns.take("a.example", 1.0, 60.0)
    assert "db-secret" not in str(refused.value)
