import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
import uuid
from contextvars import copy_context

import anyio.to_thread
import pytest
from blockbuster import blockbuster_ctx
from langfuse import Langfuse
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from collection_search.adapters.tracing.langfuse import LangfuseSink
from collection_search.ports import EndedRun, FullQuery, TraceRef
from collection_search.runtime.spans import NULL_SINK, GuardedSink
from collection_search.settings import Settings
from collection_search.testing.otlp import OtlpServer

TRACE = TraceRef("trace-a1b2c3", session_id="case-7", tenant_id="acme")


@pytest.fixture
def server():
    with OtlpServer() as running:
        yield running


@pytest.fixture
def connect(monkeypatch):
    """Build sinks as the context does, each with a project of its own; shut them down after."""
    keys = []

    def connected(server, key=None):
        if "LANGFUSE_TIMEOUT" not in os.environ:
            monkeypatch.setenv("LANGFUSE_TIMEOUT", "60" if server.answer == 200 else "1")
        keys.append(key or f"pk-lf-{uuid.uuid4()}")
        return LangfuseSink.from_settings(settings(keys[-1], server))

    yield connected
    for key in keys:
        Langfuse(public_key=key, secret_key="sk-lf-test").shutdown()


@pytest.fixture
def sink(connect, server):
    return connect(server)


def settings(public_key, server, **changes):
    keys = {"langfuse_public_key": public_key, "langfuse_secret_key": "sk-lf-test"}
    return Settings(langfuse_base_url=server.base_url, **keys | changes)


def sent(sink, server, count=1):
    """Return the spans that arrived, in the order of their opening."""
    sink.flush(60.0)
    return server.wait_for(count)


def test_one_observation_with_its_fields(sink, server):
    """Name, type, trace-wide values and scalar metadata arrive as Langfuse expects them."""
    fields = {"node_name": "k_rank", "ranked_count": 31, "avg": 45.7, "degraded": False, "x": None}
    with sink.span("k_rank", kind="retriever", trace=TRACE) as span:
        span.set(fields)
        span.set({"http.status": 200})
    (seen,) = sent(sink, server)
    assert (seen.name, seen.scope, seen.status) == ("k_rank", "langfuse-sdk", "UNSET")
    assert seen.attributes["langfuse.observation.type"] == "retriever"
    assert seen.attributes["langfuse.trace.name"] == "collection_search"
    assert seen.attributes["session.id"] == "case-7"
    assert seen.attributes["langfuse.trace.metadata.tenant_id"] == '"acme"'
    assert seen.attributes["langfuse.observation.metadata.node_name"] == '"k_rank"'
    assert seen.metadata == {
        "node_name": "k_rank", "ranked_count": 31, "avg": 45.7, "degraded": False,
        "http.status": 200,
    }  # fmt: skip
    assert seen.started_ns < seen.ended_ns


def test_export_is_addressed_and_signed(sink, server):
    """One compressed request goes to the project of the key."""
    with sink.span("a"):
        pass
    sent(sink, server)
    (export,) = server.exports
    assert export.path == "/api/public/otel/v1/traces"
    assert export.headers["authorization"].startswith("Basic ")
    assert export.headers["content-encoding"] == "gzip"
    assert export.headers["x-langfuse-ingestion-version"] == "4"


@pytest.mark.slow
async def test_observations_nest_across_tasks_and_threads(sink, server):
    """Below the span that is open in the context, wherever the context has been carried."""

    def in_thread(name):
        with sink.span(name, trace=TRACE):
            pass

    async def query(n):
        with sink.span(f"query {n}", trace=TRACE):
            await asyncio.sleep(0)
            with sink.span(f"tool {n}", kind="tool", trace=TRACE):
                await asyncio.sleep(0)

    with sink.span("root", trace=TRACE):
        await asyncio.gather(*map(query, range(3)))
        await anyio.to_thread.run_sync(in_thread, "worker")
        thread = threading.Thread(target=copy_context().run, args=(in_thread, "copied"))
        thread.start()
        thread.join()
    spans = {span.name: span for span in sent(sink, server, 9)}
    names = {span.span_id: span.name for span in spans.values()}
    parents = {name: names.get(span.parent_id) for name, span in spans.items()}
    assert parents == {
        "root": None, "query 0": "root", "query 1": "root", "query 2": "root",
        "tool 0": "query 0", "tool 1": "query 1", "tool 2": "query 2",
        "worker": "root", "copied": "root",
    }  # fmt: skip
    assert len({span.trace_id for span in spans.values()}) == 1
    assert {span.attributes["session.id"] for span in spans.values()} == {"case-7"}


def test_roots_with_one_seed_share_one_trace(sink, server):
    """The nodes of a run have no common parent, yet one trace; another run has another."""
    for seed in ("run-1", "run-1", "run-2"):
        with sink.span("node", trace=TraceRef(seed)):
            pass
    first, second, third = sent(sink, server, 3)
    assert first.trace_id == second.trace_id == Langfuse.create_trace_id(seed="run-1")
    assert third.trace_id == Langfuse.create_trace_id(seed="run-2")


def test_a_span_without_a_trace_starts_its_own(sink, server):
    """Nothing is known about it, so nothing is claimed."""
    with sink.span("a"):
        pass
    (seen,) = sent(sink, server)
    assert seen.parent_id is None
    assert "langfuse.trace.name" not in seen.attributes


def test_a_hosts_span_is_the_parent_and_is_left_untouched(sink, server):
    """Below an active OpenTelemetry span of any provider, in its trace, under its name."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with (
        provider.get_tracer("host").start_as_current_span("host") as host,
        sink.span("node", trace=TRACE),
        sink.span("tool", trace=TRACE),
    ):
        pass
    node, tool = sent(sink, server, 2)
    (seen_by_host,) = exporter.get_finished_spans()
    assert node.parent_id == otel.format_span_id(host.get_span_context().span_id)
    assert node.trace_id == otel.format_trace_id(host.get_span_context().trace_id)
    assert tool.parent_id == node.span_id
    assert "langfuse.trace.name" not in node.attributes
    assert tool.attributes["langfuse.trace.metadata.tenant_id"] == '"acme"'
    assert (seen_by_host.name, dict(seen_by_host.attributes)) == ("host", {})


@pytest.mark.slow
def test_the_global_tracer_provider_stays_unset(sink, server):
    """A host that sets its own provider later finds the place free."""
    with sink.span("a"):
        pass
    assert isinstance(otel.get_tracer_provider(), otel.ProxyTracerProvider)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generation", "embedding"])
def test_usage_of_a_model_call(sink, server, kind):
    """Model, tokens and cost stand where Langfuse sums them up."""
    with sink.span("plan", kind=kind) as span:
        span.usage(model="gpt-4o-mini", input_tokens=120, output_tokens=40, cost_usd=0.0004)
    (seen,) = sent(sink, server)
    attributes = {
        name.removeprefix("langfuse.observation."): value for name, value in seen.attributes.items()
    }
    assert attributes["type"] == kind
    assert attributes["model.name"] == "gpt-4o-mini"
    assert json.loads(attributes["usage_details"]) == {"input": 120, "output": 40}
    assert json.loads(attributes["cost_details"]) == {"total": 0.0004}


def test_unknown_usage_is_left_out(sink, server):
    """A provider that reports no tokens and a model without a price leave no zeros behind."""
    with sink.span("plan", kind="generation") as span:
        span.usage(model="m", input_tokens=7, output_tokens=None, cost_usd=None)
    (seen,) = sent(sink, server)
    assert json.loads(seen.attributes["langfuse.observation.usage_details"]) == {"input": 7}
    assert "langfuse.observation.cost_details" not in seen.attributes


def test_failure_sets_level_and_message(sink, server):
    """What the work says about its failure is what Langfuse shows."""
    with sink.span("tool") as span:
        span.fail("SearchProviderTimeout", "no answer")
    (seen,) = sent(sink, server)
    assert seen.attributes["langfuse.observation.level"] == "ERROR"
    assert seen.attributes["langfuse.observation.status_message"] == (
        "SearchProviderTimeout: no answer"
    )
    assert (seen.status, seen.status_message) == ("ERROR", "SearchProviderTimeout: no answer")


def test_exception_marks_the_span_and_its_message_is_masked(sink, server):
    """It passes through; neither its message nor a traceback leaves unmasked."""
    with pytest.raises(ValueError, match="hunter2"), sink.span("node"):
        raise ValueError("GET https://a.com/?key=hunter2 for jane@example.com")
    (seen,) = sent(sink, server)
    message = "ValueError: GET https://a.com/?key=[secret] for [email]"
    assert (seen.status, seen.status_message, seen.events) == ("ERROR", message, ())
    assert seen.attributes["langfuse.observation.status_message"] == message


def test_the_first_cause_wins_over_the_exception(sink, server):
    """A failure that was told is not replaced by the exception that ends the span."""

    def work():
        with sink.span("node") as span:
            span.fail("Timeout", "too slow")
            raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        work()
    (seen,) = sent(sink, server)
    assert seen.status_message == "Timeout: too slow"


@pytest.mark.slow
def test_long_messages_are_cut(sink, server):
    """A page of HTML in an error is cut, and no half of a secret stays at the end."""
    with sink.span("node") as span:
        span.fail("Error", "x " * 1990 + "jane@example.com " * 20)
    (seen,) = sent(sink, server)
    assert seen.status_message == ("Error: " + "x " * 1000)[:2000]


@pytest.mark.slow
async def test_cancelling_is_a_warning(sink, server):
    """Whoever cancels a run has not met an error."""

    async def work():
        with sink.span("node"):
            await asyncio.sleep(10)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    (seen,) = sent(sink, server)
    assert seen.attributes["langfuse.observation.level"] == "WARNING"
    assert seen.attributes["langfuse.observation.status_message"] == "CancelledError"


@pytest.mark.slow
def test_secrets_and_personal_data_are_masked_everywhere(sink, server):
    """In fields, under the names of secrets, in failures and in trace-wide values."""
    trace = TraceRef("t", session_id="jane@example.com", tenant_id="jane@example.com")
    with sink.span("tool.web_search", kind="tool", trace=trace) as span:
        span.set({"query": "mail jane@example.com with sk-ant-abcdefgh", "api_key": "hunter2"})
        span.fail("Error", "Bearer abcdef123456 refused")
    (seen,) = sent(sink, server)
    assert seen.metadata == {"query": "mail [email] with [secret]", "api_key": "[secret]"}
    everything = str(seen)
    for secret in ("jane", "sk-ant", "hunter2", "abcdef123456"):
        assert secret not in everything


@pytest.mark.slow
def test_trace_wide_values_are_made_to_fit(sink, server, caplog):
    """Past 200 characters or beyond ASCII Langfuse would drop them with a warning."""
    with sink.span("a", trace=TraceRef("t" * 500, session_id="s" * 500, tenant_id="münchen" * 40)):
        pass
    (seen,) = sent(sink, server)
    tenant = seen.attributes["langfuse.trace.metadata.tenant_id"]
    assert seen.attributes["session.id"] == "s" * 198
    assert tenant.isascii()
    assert len(tenant) == 200
    assert json.loads(tenant).startswith("m&#252;nchen")
    assert caplog.records == []


@pytest.mark.slow
def test_broken_text_costs_neither_the_span_nor_its_batch(sink, server, caplog):
    """A lone surrogate, which no encoding knows, arrives as a question mark."""
    with sink.span("a", trace=TraceRef("t\ud800", session_id="s\ud800")) as span:
        span.set({"query": "x\ud800y"})
        span.fail("Error", "\udfff")
    (seen,) = sent(sink, server)
    assert (seen.metadata, seen.status_message) == ({"query": "x?y"}, "Error: ?")
    assert caplog.records == []


@pytest.mark.slow
def test_two_projects_in_one_process_do_not_mix(connect, server):
    """Each key's spans go to its own project."""
    with OtlpServer() as other:
        first, second = connect(server), connect(other)
        with first.span("first"):
            pass
        with second.span("second"):
            pass
        assert [span.name for span in sent(first, server)] == ["first"]
        assert [span.name for span in sent(second, other)] == ["second"]


def test_another_address_with_the_same_keys_is_used(connect, server):
    """Who corrects the address in a running program is not left with the wrong one."""
    key = f"pk-lf-{uuid.uuid4()}"
    with OtlpServer() as other:
        wrong, right = connect(server, key), connect(other, key)
        with right.span("node"):
            pass
        assert [span.name for span in sent(right, other)] == ["node"]
        wrong.flush(60.0)
    assert server.spans == []


def test_two_sinks_of_one_project_share_its_client(connect, server):
    """The second sink of a key costs nothing and nests below the first."""
    key = f"pk-lf-{uuid.uuid4()}"
    first, second = connect(server, key), connect(server, key)
    with first.span("outer"), second.span("inner"):
        pass
    outer, inner = sent(second, server, 2)
    assert inner.parent_id == outer.span_id


def test_a_hosts_own_client_of_the_same_project_is_shared(connect, server):
    """The SDK keeps one client per key: the host's, with the host's way out."""
    exporter = InMemorySpanExporter()
    key = f"pk-lf-{uuid.uuid4()}"
    host = Langfuse(
        public_key=key, secret_key="sk-lf-test", base_url=server.base_url,
        tracer_provider=TracerProvider(shutdown_on_exit=False), span_exporter=exporter,
    )  # fmt: skip
    sink = connect(server, key)
    with (
        host.start_as_current_observation(name="host", as_type="span"),
        sink.span("node", trace=TRACE) as span,
    ):
        span.set({"query": "jane@example.com"})
    sink.flush(60.0)
    node, root = exporter.get_finished_spans()
    assert node.parent.span_id == root.context.span_id
    assert node.attributes["langfuse.observation.metadata.query"] == '"[email]"'


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["refuse", "hang", 500, 503, 401])
def test_a_server_in_trouble_neither_fails_nor_delays_the_work(connect, answer, caplog):
    """Spans cost the same; the flush keeps its deadline; one line says what is wrong."""
    with OtlpServer(answer) as server:
        sink = connect(server)
        started = time.perf_counter()
        for _ in range(50):
            with sink.span("node", trace=TRACE) as span:
                span.set({"count": 1})
        worked = time.perf_counter()
        sink.flush(0.2)
        flushed = time.perf_counter()
        sink.flush(0.2)
    assert worked - started < 60  # the server would hold them up for ever
    assert flushed - worked < 60
    # What an earlier test's server made wait may be told by now, with that server's address.
    (record,) = [one for one in caplog.records if server.base_url in one.message]
    assert record.levelno == logging.WARNING
    assert f"{server.base_url}/api/public/otel/v1/traces takes no spans (" in record.message


@pytest.mark.slow
def test_nothing_is_sent_after_a_flush_that_ran_out_of_time(connect, monkeypatch):
    """The end of a command is not delayed by what the server still makes wait."""
    monkeypatch.setenv("LANGFUSE_TIMEOUT", "60")
    with OtlpServer(503) as server:
        sink = connect(server)
        with sink.span("first"):
            pass
        sink.flush(0.1)
        with sink.span("second"):
            pass
        sink.flush(60.0)
        seen = [span.name for export in server.exports for span in export.spans]
        assert {*seen} <= {"first"}  # not even that where the time was over before it was sent


@pytest.mark.slow
async def test_spans_do_not_block_the_event_loop(sink, server):
    """No call that the detector of `langgraph dev` knows happens while spans open and close."""
    with (
        blockbuster_ctx(),
        sink.span("outer", trace=TRACE),
        sink.span("inner", trace=TRACE) as span,
    ):
        span.set({"query": "x"})
        span.usage(model="m", input_tokens=1, output_tokens=1, cost_usd=0.1)
        await asyncio.sleep(0)
    assert len(await anyio.to_thread.run_sync(sent, sink, server, 2)) == 2


def test_sampling_keeps_or_drops_whole_traces(connect, server, monkeypatch):
    """`LANGFUSE_SAMPLE_RATE` holds although the tracer provider is ours."""
    monkeypatch.setenv("LANGFUSE_SAMPLE_RATE", "0")
    sink = connect(server)
    with sink.span("a", trace=TRACE), sink.span("b", trace=TRACE) as span:
        span.fail("Kind", "message")
    sink.flush(60.0)
    assert server.exports == []


@pytest.mark.parametrize(
    "changes",
    [
        {"langfuse_public_key": None},
        {"langfuse_secret_key": None},
        {"langfuse_tracing": False},
    ],
)
def test_without_keys_or_switched_off_nothing_is_built(server, changes):
    """The sink that keeps nothing."""
    assert LangfuseSink.from_settings(settings("pk-lf-test", server, **changes)) is NULL_SINK


def test_a_client_that_cannot_be_built_switches_tracing_off(server, monkeypatch, caplog):
    """A wrong variable of the vendor's costs the trace, not the run."""
    monkeypatch.setenv("LANGFUSE_SAMPLE_RATE", "often")
    assert LangfuseSink.from_settings(settings(f"pk-lf-{uuid.uuid4()}", server)) is NULL_SINK
    assert "Langfuse is off" in caplog.text


@pytest.mark.slow
def test_the_sink_of_the_settings_is_guarded(sink):
    """Whatever the SDK may raise stays away from the work."""
    assert isinstance(sink, GuardedSink)


@pytest.mark.slow
@pytest.mark.parametrize("answer", [200, "refuse", "hang"])
def test_a_command_ends_in_time(answer):
    """What ran is delivered if the server answers; else the process ends all the same."""
    code = (
        "import time\n"
        "from collection_search.adapters.tracing.langfuse import LangfuseSink\n"
        "from collection_search.settings import Settings\n"
        "sink = LangfuseSink.from_settings(Settings())\n"
        "with sink.span('a'): pass\n"
        "print(time.monotonic())\n"
        f"sink.flush({60 if answer == 200 else 0.3})\n"
    )
    with OtlpServer(answer) as server:
        environment = {
            "LANGFUSE_PUBLIC_KEY": "pk-lf-test",
            "LANGFUSE_SECRET_KEY": "sk-lf-test",
            "LANGFUSE_BASE_URL": server.base_url,
            "LANGFUSE_TIMEOUT": "60" if answer == 200 else "1",
        }
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert time.monotonic() - float(done.stdout) < 60
        assert len(done.stderr.splitlines()) == (answer != 200)
        names = [span.name for span in server.spans]
        # A server that hangs may not even be sent the span before the time is over.
        assert names == ["a"] if answer == 200 else {*names} <= {"a"}


RUN = TraceRef("trace-a1b2c3", session_id="case-7", tenant_id="acme", run="graph:run-1:1.0")


def ended(**changes):
    facts = {"question": "why?", "result": {"outcome": "found", "result_count": 2}} | changes
    return EndedRun("graph", time.time() - 1, **facts)


def test_a_run_is_the_root_of_its_parts(sink, server):
    """Made last, it began first; the parts need nothing of one another, only the run's name."""
    for name in ("first", "second"):
        with sink.span(name, trace=RUN), sink.span(f"in {name}", trace=TRACE):
            pass
    sink.end_run(RUN, ended())
    root, *parts = sent(sink, server, 5)
    names = {span.span_id: span.name for span in (root, *parts)}
    assert root.name == "graph"
    assert root.parent_id is None
    parents = {span.name: names[span.parent_id] for span in parts}
    assert parents == {
        "first": "graph", "in first": "first", "second": "graph", "in second": "second",
    }  # fmt: skip
    assert {span.trace_id for span in parts} == {root.trace_id}
    assert root.trace_id == Langfuse.create_trace_id(seed="trace-a1b2c3")
    assert root.attributes["langfuse.observation.input"] == "why?"
    output = json.loads(root.attributes["langfuse.observation.output"])
    assert output == {"outcome": "found", "result_count": 2}
    assert root.attributes["langfuse.trace.name"] == "collection_search"
    assert root.attributes["session.id"] == "case-7"
    assert root.attributes["langfuse.trace.metadata.tenant_id"] == '"acme"'
    assert root.cost_usd is None
    assert root.ended_ns - root.started_ns >= 1e9


def test_langfuse_lists_the_run_once(sink, server):
    """Not each of its stages as a run of its own."""
    with sink.span("first", trace=RUN):
        pass
    sink.end_run(RUN, ended())
    root, part = sent(sink, server, 2)
    assert root.attributes["langfuse.internal.is_app_root"] is True
    assert part.attributes["langfuse.internal.is_app_root"] is False


def test_a_run_inside_another_is_a_part_of_it(sink, server):
    """Where its root is made, the stage that started it is open."""
    inner = TraceRef("trace-a1b2c3", run="inner")
    with sink.span("outer stage", trace=RUN):
        with sink.span("inner stage", trace=inner):
            pass
        sink.end_run(inner, ended())
    sink.end_run(RUN, ended())
    spans = {span.span_id: span for span in sent(sink, server, 4)}
    inner_stage = next(span for span in spans.values() if span.name == "inner stage")
    line = [inner_stage]
    while line[-1].parent_id:
        line.append(spans[line[-1].parent_id])
    assert [span.name for span in line] == ["inner stage", "graph", "outer stage", "graph"]


def test_below_a_hosts_span_the_run_is_its_child(sink, server):
    """In the host's trace, under the host's name."""
    with TracerProvider().get_tracer("host").start_as_current_span("host") as host:
        with sink.span("stage", trace=RUN):
            pass
        sink.end_run(RUN, ended())
    root, stage = sent(sink, server, 2)
    assert root.parent_id == otel.format_span_id(host.get_span_context().span_id)
    assert stage.parent_id == root.span_id
    assert {root.trace_id, stage.trace_id} == {
        otel.format_trace_id(host.get_span_context().trace_id)
    }
    assert "langfuse.trace.name" not in root.attributes


def test_a_failed_run_says_why(sink, server):
    """Without secrets; one that was cancelled has not met an error."""
    sink.end_run(RUN, ended(result={}, failure=("InputError", "no: api_key=hunter2")))
    sink.end_run(
        TraceRef("t", run="other"),
        ended(result={}, failure=("CancelledError", ""), is_stopped=True),
    )
    failed, stopped = sent(sink, server, 2)
    level = "langfuse.observation.level"
    status = "langfuse.observation.status_message"
    assert failed.attributes[level] == "ERROR"
    assert failed.attributes[status] == "InputError: no: api_key=[secret]"
    assert stopped.attributes[level] == "WARNING"
    assert stopped.attributes[status] == "CancelledError"
    assert "langfuse.observation.output" not in stopped.attributes


def test_with_the_hosts_own_client_there_is_no_root(connect, server):
    """Its ids are its own, so no stage would point to what is never sent."""
    exporter = InMemorySpanExporter()
    key = f"pk-lf-{uuid.uuid4()}"
    Langfuse(
        public_key=key, secret_key="sk-lf-test", base_url=server.base_url,
        tracer_provider=TracerProvider(shutdown_on_exit=False), span_exporter=exporter,
    )  # fmt: skip
    sink = connect(server, key)
    with sink.span("stage", trace=RUN):
        pass
    sink.end_run(RUN, ended())
    sink.flush(60.0)
    assert [span.name for span in exporter.get_finished_spans()] == ["stage"]


def test_a_tools_cost_is_its_cost(sink, server):
    """Where Langfuse sums it up; a tool without a price has none."""
    with sink.span("tool.web_search", kind="tool") as span:
        span.usage(model="tavily", input_tokens=None, output_tokens=None, cost_usd=0.008)
    with sink.span("tool.web_search", kind="tool"):
        pass
    priced, free = sent(sink, server, 2)
    assert (priced.cost_usd, free.cost_usd) == (0.008, None)
    assert priced.attributes["langfuse.observation.type"] == "tool"


def test_a_full_query_keeps_personal_data_but_no_secrets(sink, server):
    """Every other field of the same observation masks both."""
    text = "jane@example.com 4111 1111 1111 1111 api_key=hunter2"
    with sink.span("tool.web_search", kind="tool") as span:
        span.set({"query": FullQuery(text + " \ud800"), "note": text})
    (seen,) = sent(sink, server)
    assert seen.metadata == {
        "query": "jane@example.com 4111 1111 1111 1111 api_key=[secret] ?",
        "note": "[email] [card] api_key=[secret]",
    }


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({}, "collection-search"),
        ({"OTEL_SERVICE_NAME": "my-app"}, "my-app"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=mine,a=b"}, "mine"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "a=b"}, "collection-search"),
    ],
)
def test_the_service_has_a_name(connect, server, monkeypatch, variables, name):
    """The environment's, where it gives one."""
    for known in ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"):
        monkeypatch.delenv(known, raising=False)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    sink = connect(server)
    with sink.span("a"):
        pass
    (seen,) = sent(sink, server)
    assert seen.resource["service.name"] == name
    assert seen.resource["telemetry.sdk.language"] == "python"
