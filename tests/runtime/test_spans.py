import asyncio
import logging
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from contextvars import copy_context

import anyio.to_thread
import pytest

from collection_search.ports import EndedRun, SpanSink, SupportsRuns, TraceRef
from collection_search.runtime.spans import NULL_SINK, NULL_SPAN, GuardedSink, NullSink
from collection_search.testing.tracing import RecordingSink

USAGE = {"model": "m", "input_tokens": 3, "output_tokens": None, "cost_usd": 0.1}


def use(span):
    """Call everything that a span offers."""
    span.set({"count": 3, "absent": None})
    span.usage(**USAGE)
    span.fail("Kind", "message")


class FailingSpan:
    """Fails in every method but `__enter__`."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        raise OSError("exit")

    def set(self, fields):
        raise OSError("set")

    def usage(self, **usage):
        raise OSError("usage")

    def fail(self, kind, message):
        raise OSError("fail")


class FailingSink:
    """Fails when a span is opened, or in everything that comes later."""

    def __init__(self, *, opens):
        self.opens = opens

    def span(self, name, *, kind="span", trace=None):
        if not self.opens:
            raise OSError("open: key=sk-ant-abcdefgh")
        return FailingSpan()

    def flush(self, timeout_s):
        raise OSError("flush")


@pytest.mark.parametrize("sink", [NULL_SINK, GuardedSink(NULL_SINK), RecordingSink()])
def test_sinks_fulfil_the_port(sink):
    """Each shipped sink takes everything that the port offers."""
    assert isinstance(sink, SpanSink)
    with sink.span("a", kind="generation", trace=TraceRef("t")) as span:
        use(span)
    sink.flush(1.0)


def test_null_sink_hands_out_one_span_for_all():
    """Switched off, a span is no new object."""
    with NULL_SINK.span("a") as first, NullSink().span("b") as second:
        assert first is second is NULL_SPAN


def test_null_span_lets_exceptions_pass():
    """Observing nothing hides nothing."""
    with pytest.raises(ValueError, match="work"), NULL_SINK.span("a"):
        raise ValueError("work")


@pytest.mark.slow
def test_nothing_of_a_vendor_is_imported_while_tracing_is_off():
    """Neither Langfuse nor OpenTelemetry, nor what they bring."""
    code = (
        "import sys\n"
        "from collection_search.settings.process_defaults import default_sink\n"
        "from collection_search.runtime.spans import NULL_SINK\n"
        "assert default_sink() is NULL_SINK\n"
        "with default_sink().span('a') as span: span.set({'n': 1})\n"
        "print([n for n in sys.modules if n.split('.')[0] in ('langfuse', 'opentelemetry')])"
    )
    environment = {"PATH": "", "HOME": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("opens", [True, False])
def test_a_failing_sink_does_not_fail_the_work(opens, caplog):
    """Whatever fails, the work's result arrives, and one line in the process says so."""

    class NewSink(FailingSink):
        """A class whose failure was not logged yet."""

    for _ in range(3):
        sink = GuardedSink(NewSink(opens=opens))  # as each node of each run makes one
        with sink.span("a") as span:
            use(span)
        sink.flush(1.0)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "Tracing failed (OSError: " in record.message
    assert "sk-ant" not in record.message


@pytest.mark.parametrize("opens", [True, False])
def test_a_failing_sink_does_not_hide_the_works_own_error(opens):
    """The exception that leaves is the work's."""
    with pytest.raises(ValueError, match="work"), GuardedSink(FailingSink(opens=opens)).span("a"):
        raise ValueError("work")


def test_a_sink_cannot_swallow_the_works_error():
    """A sink that says it has handled the exception is not believed."""

    class Swallowing(FailingSink):
        @contextmanager
        def span(self, name, *, kind="span", trace=None):
            with suppress(ValueError):
                yield NULL_SPAN

    with pytest.raises(ValueError, match="work"), GuardedSink(Swallowing(opens=True)).span("a"):
        raise ValueError("work")


def test_a_run_reaches_a_sink_that_takes_runs_and_no_other(caplog):
    """The method is an addition to the port: who lacks it is no failing sink."""
    ended = EndedRun("graph", 1.0, "question", {"outcome": "found"})
    trace = TraceRef("t", run="r")
    inner = RecordingSink()
    GuardedSink(inner).end_run(trace, ended)
    GuardedSink(NULL_SINK).end_run(trace, ended)
    assert inner.runs == [(trace, ended)]
    assert isinstance(inner, SupportsRuns)
    assert not isinstance(NULL_SINK, SupportsRuns)

    class Failing(RecordingSink):
        def end_run(self, trace, run):
            raise OSError("end")

    assert caplog.records == []
    GuardedSink(Failing()).end_run(trace, ended)
    assert "Tracing failed (OSError: end)" in caplog.text


def test_the_guard_passes_everything_on():
    """A sink that works sees the same as without the guard."""
    inner = RecordingSink()
    sink = GuardedSink(inner)
    trace = TraceRef("t")
    with sink.span("a", kind="tool", trace=trace) as span:
        use(span)
    with pytest.raises(ValueError, match="work"), sink.span("b"):
        raise ValueError("work")
    sink.flush(2.5)
    first, second = inner.spans
    assert (first.name, first.kind, first.trace) == ("a", "tool", trace)
    assert (first.fields, first.tokens) == ({"count": 3}, USAGE)
    assert first.failure == ("Kind", "message")
    assert second.failure == ("ValueError", "work")
    assert inner.flushes == [2.5]


async def test_recorded_spans_nest_by_task_and_thread():
    """Tasks and threads that carry the context keep the parent and do not see each other."""
    sink = RecordingSink()

    def in_thread():
        with sink.span("thread"):
            pass

    async def query(n):
        with sink.span(f"query {n}"):
            await asyncio.sleep(0)
            with sink.span(f"call {n}"):
                await asyncio.sleep(0)

    with sink.span("root"):
        await asyncio.gather(query(1), query(2))
        await anyio.to_thread.run_sync(in_thread)
        copied = threading.Thread(target=copy_context().run, args=(in_thread,))
        copied.start()
        copied.join()
    assert sink.outline() == (
        "root\n  query 1\n    call 1\n  query 2\n    call 2\n  thread\n  thread"
    )
    assert all(span.ended for span in sink.spans)


def test_recorded_failure_keeps_the_first_cause():
    """What the work said about itself counts more than the exception that follows."""
    sink = RecordingSink()

    def work():
        with sink.span("a") as span:
            span.fail("Timeout", "too slow")
            raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        work()
    assert sink.named("a")[0].failure == ("Timeout", "too slow")
