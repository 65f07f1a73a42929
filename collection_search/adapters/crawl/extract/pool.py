"""Text of untrusted documents, extracted in worker processes with limits.

A document that makes its parser hang or use much memory ends one worker process, never the program.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
import weakref
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .deadline_watch import DeadlineWatch
from .extraction_process import ExtractionProcess, ProcessLimits, stopped_error

if TYPE_CHECKING:
    from .extracted import Extracted

MAX_WORKERS: Final = 4
_JOIN_S: Final = 3.0
"""For all threads together; the process of each was killed before."""
_BATCH: Final = 8
"""Outcomes that are delivered at once while documents wait."""
_BATCH_S: Final = 0.1
"""About how long the first outcome of a batch waits."""


@dataclass(frozen=True, slots=True)
class _Job:
    body: bytes = field(repr=False)
    name: str
    charset: str | None
    future: Future[Extracted]


class Extraction:
    """A reader of documents with up to `workers` processes (default: one per core, at most 4).

    They start with the first document and end with `close`, with this object or with the program.
    One that dies is replaced. Any number of event loops and threads may share one `Extraction`.
    """

    def __init__(self, *, workers: int | None = None, limits: ProcessLimits | None = None) -> None:
        self.size = workers or min(MAX_WORKERS, _cores())
        self._limits = limits or ProcessLimits()
        self._pool: _WorkerPool | None = None
        self._at_end: weakref.finalize[[], Extraction] | None = None
        self._lock = threading.Lock()

    async def extract(self, body: bytes, *, name: str, charset: str | None = None) -> Extracted:
        """Return title and text of a document; the suffix of `name` decides between kinds of text.

        Raises FetchError with the reason `empty`, `needs_javascript`, `challenge`,
        `extraction_failed` or `extraction_killed`.
        """
        job = _Job(body, name, charset, Future())
        self._current_pool().submit(job)
        return await asyncio.wrap_future(job.future)

    def close(self) -> None:
        """End the processes; documents that are being read fail as `extraction_killed`.

        The next document starts new ones.
        """
        with self._lock:
            pool, self._pool = self._pool, None
            if self._at_end is not None:
                self._at_end.detach()
        if pool is not None:
            pool.close()

    async def aclose(self) -> None:
        """End the processes without blocking the loop."""
        await asyncio.to_thread(self.close)

    def _current_pool(self) -> _WorkerPool:
        with self._lock:
            if self._pool is None or self._pool.pid != os.getpid():  # a fork has no threads
                self._pool = _WorkerPool(self.size, self._limits)
                self._at_end = weakref.finalize(self, self._pool.close)
            return self._pool


class _WorkerPool:
    """Threads that take jobs from one queue; each thread has its own process."""

    def __init__(self, size: int, limits: ProcessLimits) -> None:
        self.pid = os.getpid()
        self._size = size
        self._limits = limits
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open = 0
        """Jobs that wait or run."""
        self._threads: list[threading.Thread] = []
        self._workers: list[ExtractionProcess] = []
        self._watch = DeadlineWatch()
        self._closed = False

    def submit(self, job: _Job) -> None:
        with self._lock:
            if self._closed:
                raise stopped_error()
            if self._open >= len(self._threads) < self._size:
                self._add_worker()
            self._open += 1
            self._jobs.put(job)

    def close(self) -> None:
        if self.pid != os.getpid():  # threads and processes belong to the parent
            return
        with self._lock:
            self._closed = True
        with suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job and job.future.set_running_or_notify_cancel():  # else it was cancelled
                    job.future.set_exception(stopped_error())
        for _ in self._threads:
            self._jobs.put(None)
        for worker in self._workers:
            worker.stop()
        deadline = time.monotonic() + _JOIN_S
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(deadline - time.monotonic(), 0.0))
        self._watch.stop()

    def _add_worker(self) -> None:
        worker = ExtractionProcess(self._limits, self._watch)
        thread = threading.Thread(
            target=self._serve, args=(worker,), name="extraction", daemon=True
        )
        thread.start()
        self._workers.append(worker)
        self._threads.append(thread)

    def _serve(self, worker: ExtractionProcess) -> None:
        done = _Batch()
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                with self._watch.over(done.settle, _BATCH_S):
                    done.add(job.future, _outcome(worker, job))
            with self._lock:
                self._open -= 1
            del job
            if self._jobs.empty() or done.is_due:
                done.settle()
        done.settle()
        worker.stop()


class _Batch:
    """Outcomes that are delivered together: to wake the event loop for each one is expensive."""

    def __init__(self) -> None:
        self._outcomes: deque[tuple[Future[Extracted], Extracted | BaseException]] = deque()
        self._since = 0.0

    @property
    def is_due(self) -> bool:
        return len(self._outcomes) >= _BATCH or time.monotonic() - self._since >= _BATCH_S

    def add(self, future: Future[Extracted], outcome: Extracted | BaseException) -> None:
        if not self._outcomes:
            self._since = time.monotonic()
        self._outcomes.append((future, outcome))

    def settle(self) -> None:
        with suppress(IndexError):  # the batch is empty; two threads may settle it at once
            while True:
                _settle(*self._outcomes.popleft())


def _outcome(worker: ExtractionProcess, job: _Job) -> Extracted | BaseException:
    try:
        return worker.read(job.body, job.name, job.charset)
    except BaseException as error:  # noqa: BLE001 - the caller of `extract` gets it
        return error


def _settle(future: Future[Extracted], outcome: Extracted | BaseException) -> None:
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
