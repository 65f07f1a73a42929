"""The Celery app and its queues, without a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.ports import closed_port

from collection_search import Settings
from collection_search.contracts.ingestion import Priority
from collection_search.errors import ConfigError, IngestError

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("celery")
BROKER = "amqp://me:broker-secret@127.0.0.1:1//"


def app_of(**more: Any) -> Any:
    from collection_search.adapters.queues.celery_queue import create_celery_app

    return create_celery_app(Settings(**{"broker_url": BROKER, **more}))


def test_a_message_is_acknowledged_after_its_work() -> None:
    """So the message of a worker that dies comes again, to one that has nothing else."""
    conf = app_of().conf
    assert conf.task_acks_late
    assert conf.task_reject_on_worker_lost
    assert conf.worker_prefetch_multiplier == 1
    assert conf.broker_heartbeat == 10
    assert conf.worker_soft_shutdown_timeout == 25


def test_a_message_is_confirmed_and_is_json() -> None:
    """What was sent is on the broker's disk, and nobody can send code."""
    conf = app_of().conf
    assert conf.broker_transport_options["confirm_publish"] is True
    assert conf.accept_content == ["json"]
    assert conf.task_serializer == "json"
    assert conf.result_backend is None


def test_each_priority_has_a_quorum_queue() -> None:
    """On a topic exchange, with a delivery limit and a queue for dead messages."""
    queues = {queue.name: queue for queue in app_of().conf.task_queues}
    assert set(queues) == {"collection_search.interactive", "collection_search.bulk"}
    for queue in queues.values():
        assert queue.durable
        assert queue.exchange.type == "topic"
        assert queue.queue_arguments["x-queue-type"] == "quorum"
        assert queue.queue_arguments["x-delivery-limit"] >= 10
        assert queue.queue_arguments["x-dead-letter-routing-key"] == "collection_search.dead"


def test_as_many_pages_at_once_as_in_one_process() -> None:
    """The settings of the engine hold for a worker of Celery as well."""
    assert app_of(ingest_workers=3, fetch_at_once=5).conf.worker_concurrency == 5


def test_without_an_address_the_variable_is_named() -> None:
    """The message says what to set."""
    with pytest.raises(ConfigError, match="COLLECTION_SEARCH_BROKER_URL"):
        app_of(broker_url=None)


def test_an_address_of_another_kind_is_refused() -> None:
    """The message does not have the address, which has a password."""
    with pytest.raises(ConfigError, match="amqp://") as refused:
        Settings.load(broker_url="redis://me:broker-secret@host/0")
    assert "broker-secret" not in str(refused.value)


def test_a_broker_that_does_not_run_is_named_without_its_password() -> None:
    """The message says what to check."""
    from collection_search.adapters.queues.celery_queue import CeleryQueue

    with closed_port() as port:
        address = f"amqp://me:broker-secret@127.0.0.1:{port}//"
        queue = CeleryQueue.from_settings(Settings(broker_url=address))
        with pytest.raises(IngestError, match="COLLECTION_SEARCH_BROKER_URL") as refused:
            queue.send(Priority.INTERACTIVE, 1)
    assert f"127.0.0.1:{port}" in str(refused.value)
    assert "broker-secret" not in str(refused.value)


def test_the_task_has_a_fixed_name(tmp_path: Path) -> None:
    """A name that follows from a module changes with the program that sends it."""
    from collection_search.adapters.queues.celery_worker import CeleryWorker
    from collection_search.context import SearchContext

    settings = Settings(broker_url=BROKER, home=tmp_path)
    worker = CeleryWorker(SearchContext(settings=settings))
    assert "collection_search.ingest" in worker.app.tasks
