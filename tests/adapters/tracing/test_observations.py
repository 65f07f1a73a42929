"""The ids of recorded observations."""

from __future__ import annotations

from langfuse import Langfuse
from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext, TraceFlags

from collection_search.adapters.tracing.observations import root_ids, trace_id_of
from collection_search.ports import TraceRef

TRACE = 0xABC


def test_equal_runs_have_equal_roots() -> None:
    """In whatever process; another run has another."""
    ids = root_ids("graph:run:1.0", TRACE, INVALID_SPAN_CONTEXT)
    assert ids == root_ids("graph:run:1.0", TRACE, INVALID_SPAN_CONTEXT)
    assert ids.span_id != root_ids("graph:run:2.0", TRACE, INVALID_SPAN_CONTEXT).span_id
    assert ids.trace_id == TRACE
    assert ids.is_valid
    assert ids.trace_flags.sampled


def test_a_root_below_a_span_is_in_its_trace_and_sampled_as_it_is() -> None:
    """A host that does not sample a trace gets no part of it either."""
    active = SpanContext(7, 8, is_remote=False, trace_flags=TraceFlags(TraceFlags.DEFAULT))
    ids = root_ids("graph:run:1.0", TRACE, active)
    assert ids.trace_id == active.trace_id
    assert not ids.trace_flags.sampled


def test_the_trace_follows_from_its_seed_as_in_the_sdk() -> None:
    """So that a host's scores and links find it."""
    for seed in ("run-1", "münchen", "x\ud800"):
        expected = Langfuse.create_trace_id(seed=seed.replace("\ud800", "?"))
        assert trace_id_of(TraceRef(seed)) == int(expected, 16)
