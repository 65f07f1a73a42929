"""Celery's settings and RabbitMQ's queues: nothing is lost when a worker or the broker dies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kombu.entity import Exchange, Queue

from ...contracts.ingestion import Priority

if TYPE_CHECKING:
    from ...settings import Settings

TASK: Final = "collection_search.ingest"
"""The task's name is fixed: a name that a worker does not know is dropped without a trace."""
DELIVERY_LIMIT: Final = 20
"""Deliveries of one message; a killed worker costs one, though it may not have begun."""
SHUTDOWN_S: Final = 25
CONFIRM_S: Final = 10
CONNECT_S: Final = 4

# The queues are durable by their type. Delays are kept in the ledger, never as a countdown.
EXCHANGE: Final = Exchange("collection_search", type="topic", durable=True)
DEAD: Final = Queue("collection_search.dead", queue_arguments={"x-queue-type": "quorum"})
"""Messages that were delivered too often. They name no row, so nothing is lost with them."""
NAMES: Final = {Priority.INTERACTIVE: "interactive", Priority.REFRESH: "bulk"}
"""Short names of the queues: one for each priority, since quorum queues know no priorities."""


def _queue(name: str) -> Queue:
    return Queue(
        f"{EXCHANGE.name}.{name}",
        EXCHANGE,
        routing_key=name,
        durable=True,
        queue_arguments={  # frozen by the first declaration
            "x-queue-type": "quorum",
            "x-delivery-limit": DELIVERY_LIMIT,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": DEAD.name,
        },
    )


QUEUES: Final = {priority: _queue(name) for priority, name in NAMES.items()}


def celery_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings of the Celery app. Raises ConfigError without a broker."""
    return {
        "broker_url": settings.amqp_url(),
        "broker_heartbeat": 10,
        "broker_connection_timeout": CONNECT_S,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {"confirm_publish": True, "confirm_timeout": CONFIRM_S},
        "task_queues": list(QUEUES.values()),
        "task_default_queue": QUEUES[Priority.REFRESH].name,
        "task_default_exchange": EXCHANGE.name,
        "task_default_exchange_type": EXCHANGE.type,
        "task_default_queue_type": "quorum",
        "task_create_missing_queue_type": "quorum",
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_ignore_result": True,
        "task_serializer": "json",
        "result_serializer": "json",
        "accept_content": ["json"],
        "result_backend": None,
        "task_time_limit": 600,  # of a pool that can end a task; well before consumer_timeout
        # One process with threads has one budget for a host and one model in memory.
        "worker_pool": "threads",
        "worker_concurrency": max(settings.ingest_workers, settings.fetch_at_once),
        "worker_prefetch_multiplier": 1,
        "worker_soft_shutdown_timeout": SHUTDOWN_S,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_send_task_events": False,
        "enable_utc": True,
    }
