"""When records are sent, and that none is lost at the end of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING

import pytest
from support.waiting import wait_until

from collection_search.adapters.tracing import langfuse_project
from collection_search.adapters.tracing import sender as sending
from collection_search.adapters.tracing.langfuse import LangfuseSink
from collection_search.testing.otlp import OtlpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = """
import json, os, sys
from collection_search.adapters.tracing.langfuse import LangfuseSink
sink = LangfuseSink(public_key="pk-lf-x", secret_key="sk-lf-x", base_url=sys.argv[1])
with sink.span("first"):
    pass
{rest}
print(json.dumps([name for name in ("langfuse", "requests") if name in sys.modules]))
"""


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with OtlpServer() as running:
        yield running


def made(server: OtlpServer) -> LangfuseSink:
    key = f"pk-lf-{uuid.uuid4()}"
    return LangfuseSink(public_key=key, secret_key="sk-lf-x", base_url=server.base_url)


def ended(server: OtlpServer, rest: str = "") -> subprocess.CompletedProcess[str]:
    """Return a process that opens a span and ends without a flush."""
    command = [sys.executable, "-c", PROGRAM.format(rest=rest), server.base_url]
    environment = {**os.environ, "LANGFUSE_TIMEOUT": "60" if server.answer == 200 else "1"}
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120, env=environment
    )


@pytest.mark.slow
def test_the_end_of_a_process_sends_what_waits(server: OtlpServer) -> None:
    """Without a flush; neither the SDK nor the exporter is imported before."""
    done = ended(server)
    assert [span.name for span in server.spans] == ["first"]
    assert json.loads(done.stdout) == []


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["refuse", "hang", 503])
def test_a_process_ends_although_nobody_takes_its_spans(answer: int | str) -> None:
    """After one attempt within the time limit of an export, with one line that says why."""
    with OtlpServer(answer) as server:  # type: ignore[arg-type]
        done = ended(server, rest="for _ in range(600):\n    with sink.span('more'): pass")
    assert len(done.stderr.splitlines()) == 1
    assert "takes no spans" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_sends_its_own_spans_alone(server: OtlpServer) -> None:
    """Those of its parent are the parent's."""
    rest = """
child = os.fork()
with sink.span("child" if child == 0 else "parent"):
    pass
sink.flush(60)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
    ended(server, rest)
    assert sorted(span.name for span in server.spans) == ["child", "first", "parent"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("held", ["_starting", "_sending", "_making"])
def test_a_forked_child_that_only_flushes_sends_nothing(server: OtlpServer, held: str) -> None:
    """It waits for no lock that a thread of its parent held."""
    rest = f"""
with sink._project.sender.{held}:
    child = os.fork()
    if child == 0:
        sink.flush(60)
        os._exit(0)
os.waitpid(child, 0)
"""
    done = ended(server, rest)
    assert [span.name for span in server.spans] == ["first"]
    assert "takes no spans" not in done.stderr


def test_a_full_batch_does_not_wait_for_the_interval(
    server: OtlpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many records as one request takes are sent at once, in one request."""
    monkeypatch.setenv("LANGFUSE_FLUSH_AT", "3")
    monkeypatch.setenv("LANGFUSE_FLUSH_INTERVAL", "3600")
    sink = made(server)
    for _ in range(3):
        with sink.span("one"):
            pass
    server.wait_for(3)
    sink.flush(60.0)  # the answer has arrived as well
    assert [len(export.spans) for export in server.exports] == [3]


def test_records_are_sent_after_the_interval(
    server: OtlpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a flush, again and again."""
    monkeypatch.setenv("LANGFUSE_FLUSH_INTERVAL", "0.01")
    sink = made(server)
    for count in (1, 2):
        with sink.span("one"):
            pass
        server.wait_for(count)
    sink.flush(60.0)


def test_a_queue_that_is_full_drops_what_comes_and_says_so_once(
    server: OtlpServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The memory of a host whose Langfuse is away does not grow for ever."""
    monkeypatch.setenv("LANGFUSE_FLUSH_INTERVAL", "3600")
    monkeypatch.setattr(sending, "MAX_WAITING", 2)
    sink = made(server)
    for _ in range(5):
        with sink.span("one"):
            pass
    sink.flush(60.0)
    assert len(server.wait_for(2)) == 2
    assert [record.message for record in caplog.records] == [
        "More than 2 observations wait. Further ones are dropped."
    ]


def test_numbers_and_flags_arrive_as_every_reader_understands_them(server: OtlpServer) -> None:
    """What JavaScript cannot hold is text."""
    sink = made(server)
    with sink.span("one") as span:
        span.set({"big": 2**60, "nan": float("nan"), "yes": True, "name": "ü", "half": 0.5})
    sink.flush(60.0)
    (seen,) = server.wait_for(1)
    assert seen.metadata == {"big": str(2**60), "nan": "NaN", "yes": True, "name": "ü", "half": 0.5}
    assert seen.started_ns <= time.time_ns()


@pytest.mark.parametrize("most", ["0", "-5"])
def test_a_request_takes_one_record_at_least(
    server: OtlpServer, monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    """Whatever the environment says."""
    monkeypatch.delitem(sys.modules, "langfuse", raising=False)  # else the host's client sends
    monkeypatch.setenv("LANGFUSE_FLUSH_AT", most)
    monkeypatch.setenv("LANGFUSE_FLUSH_INTERVAL", "3600")
    sink = made(server)
    for _ in range(2):
        with sink.span("one"):
            pass
    sink.flush(60.0)
    assert [len(export.spans) for export in server.exports] == [1, 1]


def test_without_an_exporter_langfuse_is_off(
    server: OtlpServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """That is told once; neither a run nor the end of the process fails."""
    monkeypatch.delitem(sys.modules, "langfuse", raising=False)  # else the host's client sends
    asked: list[object] = []

    def broken(*options: object) -> None:
        asked.append(options)
        raise ImportError("no exporter, api_key=hidden")

    monkeypatch.setattr(langfuse_project, "_exporter", broken)
    monkeypatch.setenv("LANGFUSE_FLUSH_INTERVAL", "0.01")
    sink = made(server)
    with sink.span("one"):
        pass
    wait_until(lambda: caplog.records)
    with sink.span("two"):
        pass
    sink.flush(60.0)
    sink._project.sender.drain_at_exit()
    assert len(asked) == 1
    (told,) = caplog.records
    assert "Langfuse is off" in told.message
    assert "hidden" not in told.message


def test_the_end_of_a_process_has_a_time_limit(
    server: OtlpServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is not sent by then is dropped, and counted."""
    monkeypatch.setattr(sending, "DRAIN_S", 0.0)
    monkeypatch.setenv("LANGFUSE_FLUSH_INTERVAL", "3600")
    sink = made(server)
    for _ in range(3):
        with sink.span("one"):
            pass
    sink._project.sender.drain_at_exit()
    assert server.exports == []
    assert [record.message for record in caplog.records] == [
        "The process ends. Observations that are dropped: 3."
    ]
