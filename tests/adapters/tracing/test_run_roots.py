from langfuse import Langfuse
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN_CONTEXT

from collection_search.adapters.tracing.run_roots import (
    RunTracerProvider,
    below,
    root_ids,
    with_ids,
)

TRACE = Langfuse.create_trace_id(seed="t")


def test_equal_runs_have_equal_roots():
    """In whatever process; another run has another."""
    ids = root_ids("graph:run:1.0", TRACE, INVALID_SPAN_CONTEXT)
    assert ids == root_ids("graph:run:1.0", TRACE, INVALID_SPAN_CONTEXT)
    assert ids.span_id != root_ids("graph:run:2.0", TRACE, INVALID_SPAN_CONTEXT).span_id
    assert ids.trace_id == int(TRACE, 16)
    assert ids.is_valid
    assert ids.trace_flags.sampled


def test_a_parent_may_be_made_after_its_child():
    """Only the span that is made with the ids has them."""
    exporter = InMemorySpanExporter()
    provider = RunTracerProvider(shutdown_on_exit=False)
    assert not provider.is_used
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    assert provider.is_used
    tracer = provider.get_tracer("test")
    ids = root_ids("run", TRACE, INVALID_SPAN_CONTEXT)
    with below(ids):
        tracer.start_span("child").end()
    with with_ids(ids):
        tracer.start_span("root").end()
    tracer.start_span("other").end()
    child, root, other = exporter.get_finished_spans()
    assert (root.context.trace_id, root.context.span_id) == (ids.trace_id, ids.span_id)
    assert root.parent is None
    assert child.parent.span_id == root.context.span_id
    assert child.context.trace_id == root.context.trace_id
    assert other.context.trace_id != root.context.trace_id
