"""The frame of every stage: one observation, one telemetry entry, one pair of events."""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from langgraph.errors import GraphBubbleUp, is_invalid_resume

from ..context import SearchContext
from ..contracts.prices import parse_usd, sum_tokens, total_cost, total_if_known
from ..runtime.gc import relieve_after_run
from ..runtime.spans import NULL_SPAN
from ..runtime.unheard import NULL_LISTENER
from ..text.redaction import redact
from ..tools.spending.run_spendings import open_account
from .run_ids import find_run_ids, with_business
from .summary_sentences import summarize
from .whole_run import WholeRun

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from ..contracts.state import RunIds, Telemetry
    from ..ports import Listener, Scalar, Span, SpanKind, SpanSink
    from ..tools.spending.account import Account
    from ..tools.spending.budget import RunBudget

_SUMMED: Final = frozenset(
    ("latency_ms", "cost_usd", "input_tokens", "output_tokens", "call_count", "passage_count")
)
"""Facts of a stage that are summed over its visits in one run."""

StateT = TypeVar("StateT")
Update = Mapping[str, Any]


def _is_alone(_state: Mapping[str, Any]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class StagePlace:
    """The place of a stage in a graph, and who listens to this run of it."""

    graph: str = ""
    """The graph's name; empty for a stage outside a graph of this package."""
    is_end: Callable[[Mapping[str, Any]], bool] = _is_alone
    """Returns whether the run ends with this state."""
    listener: Listener = NULL_LISTENER


_ALONE: Final = StagePlace()


@dataclass(frozen=True, slots=True)
class StageRun:
    """What a stage's body gets besides the state."""

    name: str
    context: SearchContext
    ids: RunIds
    sink: SpanSink
    span: Span
    emit: Callable[[Any], None]
    """Writes to the custom stream."""
    account: Account
    """The stage's cost limit and its spending."""
    listener: Listener = NULL_LISTENER
    """Is told of the calls of tools and models."""
    thread_id: str | None = None
    """The host's thread; None without a checkpointer."""
    server: Any = None
    """What a LangGraph server says of itself and of its user; None outside one."""


Body = Callable[[StateT, StageRun], Awaitable[Update]]
Node = Callable[[StateT, "Runtime[Any]", StagePlace], Awaitable[dict[str, Any]]]


def stage(name: str, *, kind: SpanKind = "span") -> Callable[[Body[StateT]], Node[StateT]]:
    """Return a decorator that makes a stage's body a node `(state, runtime, place) -> update`.

    The body returns its own keys. Its `telemetry` (JSON-plain) goes to the observation, to the
    run's telemetry and to the custom stream; its `flags` are added to the run's. Its spending is
    recorded even when it raises. A body that interrupts the run is no failure: its observation
    says `paused`.
    """

    def decorate(body: Body[StateT]) -> Node[StateT]:
        @functools.wraps(body)
        async def node(
            state: StateT, runtime: Runtime[Any], place: StagePlace = _ALONE
        ) -> dict[str, Any]:
            before = state if isinstance(state, Mapping) else {}
            context = with_business(SearchContext.of(runtime), before, place.graph)
            ids, is_new = await find_run_ids(before or _owner_of(state), context, runtime)
            whole = WholeRun.of(place.graph, ids["run_id"], state)
            trace = context.trace(ids, run=whole.identity)
            sink = await context.sink()
            emit = runtime.stream_writer
            account = await open_account(context, ids, is_new=is_new)
            is_last = True
            emit({"type": "node_started", "node": name})
            started = time.perf_counter()
            try:
                account.name_question(_question_in(state))
                with sink.span(name, kind=kind, trace=trace) as span:
                    run = StageRun(
                        name, context, ids, sink, span, emit, account, place.listener,
                        _thread_of(runtime), runtime.server_info,
                    )  # fmt: skip
                    update, pause = await _update_or_pause(body, state, run)
                    facts = {"node_name": name, "latency_ms": _ms_since(started)}
                    facts |= update.pop("telemetry") | _limits(account.budget)
                    if span is not NULL_SPAN:
                        span.set(_scalars(facts))
                    is_last = update.get("outcome") is not None
            except BaseException as error:
                if isinstance(error, Exception):
                    emit({"type": "node_failed", "node": name, "error": redact(str(error))})
                if not is_invalid_resume(error):  # such a run waits on
                    whole.tell_failure(error, sink, trace, context.using().capture_query)
                raise
            finally:
                await account.close(is_last=is_last)  # else with the next stage
            if pause is not None:
                emit({"type": "node_paused", "node": name})
                raise pause
            emit({"type": "node_finished", "node": name, "telemetry": facts})
            if place.is_end(after := {**before, **update}):
                whole.tell_end(after, sink, trace, context.using().capture_query)
                if place.graph and context.using().relieve_collector:
                    relieve_after_run()
            flags = [*before.get("flags", ()), *update.get("flags", ())]
            flags += ["cost_limit_reached"] if account.budget.is_reached else []
            telemetry = add_entry(before.get("telemetry"), ids["trace_id"], facts)
            return {
                **update,
                **_summary(place, before, after, telemetry),
                "ids": ids,
                "tenant_id": context.tenant(),
                "business": {"workflow_id": context.workflow(), "case_id": context.case_id},
                "flags": list(dict.fromkeys(flags)),
                "started_at": whole.started_at,
                "telemetry": telemetry,
            }

        return node

    return decorate


async def _update_or_pause(
    body: Body[StateT], state: StateT, run: StageRun
) -> tuple[dict[str, Any], GraphBubbleUp | None]:
    """Return the body's update, or the interrupt that it raised: that is no failure of a span."""
    try:
        return dict(await body(state, run)), None
    except GraphBubbleUp as pause:
        return {"telemetry": {"paused": True}}, pause


def _summary(
    place: StagePlace, before: Mapping[str, Any], after: Mapping[str, Any], telemetry: Telemetry
) -> dict[str, str]:
    """Return the summary of a run that has an outcome; its first stage forgets the last run's."""
    if not place.graph:
        return {}
    if after.get("outcome") is None:
        return {} if before else {"summary": ""}
    return {"summary": summarize(after, telemetry, goes_on=not place.is_end(after))}


def add_entry(before: Telemetry | None, trace_id: str, facts: Mapping[str, Any]) -> Telemetry:
    """Return the run's telemetry with one more stage, sums included.

    A stage that runs again has one entry with the sums of its `visits`, else with its last facts.

    >>> add_entry(None, "t", {"node_name": "a", "latency_ms": 1.5, "cost_usd": None})
    {'trace_id': 't', 'nodes': {'a': {'node_name': 'a', 'latency_ms': 1.5, 'cost_usd': None}}, \
'latency_ms': 1.5, 'input_tokens': 0, 'output_tokens': 0, 'cost_usd': 0.0, \
'cost_complete': False, 'cost_limit_usd': None}
    """
    nodes = _nodes_in(before)
    nodes[facts["node_name"]] = _added(nodes.get(facts["node_name"]), facts)
    costs = [entry.get("cost_usd", 0.0) for entry in nodes.values()]
    return {
        "trace_id": trace_id,
        "nodes": nodes,
        "latency_ms": round(sum(entry.get("latency_ms") or 0.0 for entry in nodes.values()), 3),
        "input_tokens": _tokens_of(nodes, "input_tokens"),
        "output_tokens": _tokens_of(nodes, "output_tokens"),
        "cost_usd": total_cost(cost for cost in costs if cost is not None),
        "cost_complete": None not in costs,
        "cost_limit_usd": facts.get("cost_limit_usd"),
    }


def _tokens_of(nodes: Mapping[str, Mapping[str, Any]], name: str) -> int | None:
    """Return the sum of all stages; one without this fact asked no model for it."""
    counts = (parse_usd(entry.get(name, 0)) for entry in nodes.values())
    return sum_tokens(None if count is None else int(count) for count in counts)


def _nodes_in(before: Any) -> dict[str, dict[str, Any]]:
    """Return the entries of the telemetry in a state, without figures that are none.

    On a server a caller may write it: it is for display, and no budget depends on it.
    """
    nodes = before.get("nodes") if isinstance(before, Mapping) else None
    return {
        str(name): {
            fact: value
            for fact, value in entry.items()
            if fact not in _SUMMED or value is None or parse_usd(value) is not None
        }
        for name, entry in (nodes.items() if isinstance(nodes, Mapping) else ())
        if isinstance(entry, Mapping)
    }


def _added(before: Mapping[str, Any] | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a stage, with the sums of its visits where it runs in a loop."""
    if before is None:
        return dict(facts)
    sums = {
        name: _sum(before[name], facts[name]) for name in _SUMMED & before.keys() & facts.keys()
    }
    visits = before.get("visits", 1)
    return {**before, **facts, **sums, "visits": visits + 1 if isinstance(visits, int) else 2}


def _sum(one: float | None, other: float | None) -> float | None:
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    return total_if_known([one, other])


def _owner_of(state: Any) -> dict[str, Any]:
    """Return whose thread it is, where a first stage reads it."""
    return {"tenant_id": getattr(state, "tenant_id", None)}


def _thread_of(runtime: Runtime[Any]) -> str | None:
    """Return the host's thread; what a host names it by need not be a string."""
    thread_id = getattr(runtime.execution_info, "thread_id", None)
    return None if thread_id is None else str(thread_id)


def _question_in(state: Any) -> Any:
    """Return what the run was asked, as the state or the input has it."""
    known = state if isinstance(state, Mapping) else vars(state)
    return known.get("question") or known.get("asked")


def _limits(budget: RunBudget) -> dict[str, Any]:
    """Return the facts about the run's cost limit, where there is one."""
    if budget.limit_usd is None:
        return {}
    return {
        "cost_limit_usd": budget.limit_usd,
        "cost_limit_reached": budget.is_reached,
        "cost_limit_blind": budget.has_unknown,
    }


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def _scalars(facts: Mapping[str, Any]) -> dict[str, Scalar]:
    return {key: fact for key, fact in facts.items() if isinstance(fact, str | int | float)}
