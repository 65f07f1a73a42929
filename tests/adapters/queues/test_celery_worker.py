"""What a Celery worker says of a broker that it cannot use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.ports import closed_port
from support.postgres_server import REQUIRED
from support.rabbitmq_server import is_installed, rabbitmq_server

from collection_search import SearchContext, Settings
from collection_search.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("celery")

NEEDS_RABBITMQ = pytest.mark.skipif(
    not is_installed() and not REQUIRED, reason="needs Debian's package rabbitmq-server"
)
PASSWORD = "broker-secret-word"


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with rabbitmq_server() as server:
        yield server.url


@NEEDS_RABBITMQ
@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        (("guest:guest", f"guest:{PASSWORD}"), "ACCESS_REFUSED - Login was refused"),
        (("//", "/nosuch"), "vhost nosuch not found"),
    ],
)
def test_a_refusal_of_the_broker_is_told_with_the_variable(
    broker: str, tmp_path: Path, changed: tuple[str, str], cause: str
) -> None:
    """Before Celery begins, which would end without a word."""
    from collection_search.adapters.queues.celery_worker import CeleryWorker

    scheme, _, rest = broker.partition("://")
    url = f"{scheme}://{rest.replace(*changed)}"
    worker = CeleryWorker(SearchContext(settings=Settings(home=tmp_path, broker_url=url)))
    with pytest.raises(IngestError, match=cause) as refused:
        worker.run()
    assert "Check COLLECTION_SEARCH_BROKER_URL" in str(refused.value)
    assert PASSWORD not in str(refused.value)


@pytest.mark.slow
def test_a_broker_that_does_not_run_is_waited_for_with_a_warning(tmp_path: Path) -> None:
    """Without `-v`; a signal ends the worker."""
    with closed_port() as port:
        variables = {
            "COLLECTION_SEARCH_HOME": str(tmp_path),
            "COLLECTION_SEARCH_BROKER_URL": f"amqp://me:{PASSWORD}@127.0.0.1:{port}//",
            "COLLECTION_SEARCH_DATABASE_URL": "postgresql://127.0.0.1:1/none",
        }
        worker = subprocess.Popen(
            [sys.executable, "-m", "collection_search", "worker", "--engine", "celery"],
            env={**os.environ, **variables},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert worker.stderr is not None
        said = ""
        while "waits" not in said and (line := worker.stderr.readline()):
            said += line
        worker.send_signal(signal.SIGTERM)
        said += worker.communicate(timeout=60)[1]
    assert "warning: The message broker 127.0.0.1" in " ".join(said.split())
    assert "Connection refused" in said
    assert PASSWORD not in said
