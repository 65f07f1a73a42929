"""Messages to Celery's workers over RabbitMQ."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...errors import IngestError, MissingExtraError
from ...text.redaction import redact

try:
    from amqp.exceptions import (
        AMQPError,
        IrrecoverableChannelError,
        IrrecoverableConnectionError,
        MessageNacked,
    )
    from celery import Celery
    from kombu.exceptions import KombuError

    from .celery_settings import CONFIRM_S, DEAD, NAMES, QUEUES, TASK, celery_settings
except ImportError as missing:
    raise MissingExtraError(
        "The ingestion engine celery needs an extra. Run: pip install 'collection-search[celery]',"
        " or set COLLECTION_SEARCH_INGEST_ENGINE=local instead."
    ) from missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kombu.connection import Connection
    from kombu.entity import Queue

    from ...contracts.ingestion import Priority
    from ...settings import Settings

T = TypeVar("T")

REFUSALS: Final = (IrrecoverableChannelError, IrrecoverableConnectionError)
"""Failures that come again: a wrong login, a missing vhost, another declaration of a queue."""
_FAILURES: Final = (AMQPError, KombuError, MessageNacked, OSError)


class CeleryQueue:
    """The queues of a RabbitMQ broker.

    Implements `collection_search.ports.WorkQueue`, and `CountsMessages`.
    """

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._is_declared = False

    @classmethod
    def from_settings(cls, settings: Settings) -> CeleryQueue:
        """Return the queues of these settings; connects on first use. Raises ConfigError."""
        return cls(create_celery_app(settings))

    def depth(self, priority: Priority) -> int:
        """Return how many messages wait, without those that a worker has."""
        return self._call(lambda connection: _count(connection, QUEUES[priority]))

    def ready(self) -> dict[str, int]:
        """Return how many messages wait in each queue, without those that a worker has."""
        queues = {**{NAMES[one]: queue for one, queue in QUEUES.items()}, "dead": DEAD}

        def count(connection: Connection) -> dict[str, int]:
            return {name: _count(connection, queue) for name, queue in queues.items()}

        return self._call(count)

    def send(self, priority: Priority, count: int) -> None:
        """Send so many messages; the broker has confirmed each when this returns."""
        given = {"priority": priority.name.lower()}

        def send(connection: Connection) -> None:
            for _ in range(count):
                # No retry here: the next sweep sends what is missing.
                self._app.send_task(
                    TASK,
                    kwargs=given,
                    queue=QUEUES[priority],
                    connection=connection,
                    retry=False,
                )

        self._call(send)

    def declare(self) -> None:
        """Create the queues, that of dead messages too. Raises IngestError."""
        self._call(lambda _: None)

    def _call(self, function: Callable[[Connection], T]) -> T:
        """Return what the function returns; a connection that has ended is replaced once."""
        with suppress(*_FAILURES):
            return self._attempt(function)
        try:
            return self._attempt(function)
        except _FAILURES as error:
            self._is_declared = False
            raise IngestError(
                f"The message broker {self._place} cannot be used: {_reason(error)}."
                " Check COLLECTION_SEARCH_BROKER_URL, and that RabbitMQ runs."
            ) from error

    def _attempt(self, function: Callable[[Connection], T]) -> T:
        with self._app.pool.acquire(block=True) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0)
            with _answering(connection):
                if not self._is_declared:
                    for queue in (DEAD, *QUEUES.values()):
                        queue(connection.default_channel).declare()
                    self._is_declared = True
                return function(connection)

    @property
    def _place(self) -> str:
        """Return host and port, without user and password."""
        known = self._app.connection_for_write()
        return f"{known.hostname}:{known.port or known.transport.default_port}"


def create_celery_app(settings: Settings) -> Celery:
    """Return a Celery app with the queues, for sending and for workers. Raises ConfigError."""
    app = Celery("collection_search", set_as_current=False)
    app.conf.update(celery_settings(settings))
    return app


@contextmanager
def _answering(connection: Connection) -> Iterator[None]:
    """Open a block in which a broker that says nothing is waited for `CONFIRM_S` at most."""
    link: Any = connection.default_channel.connection
    try:
        with link.transport.having_timeout(CONFIRM_S):
            yield
    except TimeoutError as error:
        link.collect()  # a late answer would be taken for that to the next question
        raise TimeoutError(f"no answer within {CONFIRM_S} s") from error


def _count(connection: Connection, queue: Queue) -> int:
    return int(queue(connection.default_channel).queue_declare(passive=True).message_count)


def _reason(error: Exception) -> str:
    return redact(str(error)).strip().rstrip(".") or type(error).__name__
