"""`collection-search serve` on PostgreSQL, as a process of its own: its start, its work, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from support.page_api import PageApi
from support.page_hosts import variables_for
from support.page_world import PageWorld
from support.ports import free_port
from support.postgres_server import NEEDS_POSTGRES, PostgresServer, postgres_server
from support.served_app import STOP_S, is_ours, served_app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = NEEDS_POSTGRES
PASSWORD = "very-secret-word"
HERONS = "How do herons catch fish?"
DATABASE = "COLLECTION_SEARCH_DATABASE_URL"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        server.require_password("guarded", PASSWORD)
        yield server


def test_it_ingests_pages_and_stops_by_sigterm(server: PostgresServer, tmp_path: Path) -> None:
    """The collection outlives the process; its files hold none."""
    url = server.new_database()
    with PageWorld() as world:
        variables = {**variables_for(world), DATABASE: url}
        with served_app(tmp_path, **variables) as served, PageApi(served.url) as api:
            api.filled("birds", HERONS, context={"provider": "searxng"})
            stored = api.documents("birds")
            assert {urlsplit(page["url"]).netloc for page in stored} == {world.address}
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(STOP_S) == 0
        told = served.log.read_text()
        assert "Traceback" not in told
        assert f"data in 127.0.0.1:{urlsplit(url).port}{urlsplit(url).path}" in told
        with served_app(tmp_path, **variables) as served, PageApi(served.url) as api:
            assert api.documents("birds") == stored
    assert not list((tmp_path / "home").glob("c*s.db"))


def test_a_wrong_password_ends_the_start(server: PostgresServer, tmp_path: Path) -> None:
    """With one sentence, and without the password."""
    wrong = server.url_of("guarded", password=f"not-{PASSWORD}")
    others = {name: value for name, value in os.environ.items() if not is_ours(name)}
    given = {"COLLECTION_SEARCH_HOME": str(tmp_path), DATABASE: wrong}
    ended = subprocess.run(
        [sys.executable, "-m", "collection_search", "serve", "--port", str(free_port())],
        env={**others, **given},
        capture_output=True,
        text=True,
        timeout=STOP_S,
        check=False,
    )
    assert ended.returncode == 2
    assert 'password authentication failed for user "guarded"' in ended.stderr
    assert "Traceback" not in ended.stderr
    assert PASSWORD not in ended.stderr + ended.stdout
