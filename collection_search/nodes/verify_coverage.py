"""Verify what the ingestion stored, and which queries the collection answers with it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..contracts.collection import TenantScope
from ..contracts.prices import sum_tokens, tokens_in, total_if_known
from ..errors import CostLimitReached
from ..planning.gaps import gap_queries
from ..runtime.failure_log import log_failure
from ..text.redaction import error_message
from ..tools.coverage.ingestion_coverage import await_ingestion
from ..tools.coverage.query_coverage import AnsweredQuery, ask_queries
from ..tools.coverage.verification import build_coverage, unique_queries
from ..tools.ingestion.embedders import embedder_for
from ..tools.ingestion.questions import record_coverage
from ..tools.spending.booked_call import CallUsage, usage_of_failure
from ..tools.spending.cost_meter import with_meter
from ..tools.spending.paid_plan import paid_plan
from .review_candidates import review_round
from .stage import StageRun, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.coverage import Coverage, IngestionCoverage, QueryCoverage
    from ..contracts.ingestion import TicketStatus
    from ..contracts.state import CollectionSearchState
    from ..contracts.updates import CoverageUpdate
    from ..ports import QueryModel

logger = logging.getLogger(__name__)


@stage("k_verify_coverage")
async def verify_coverage(state: CollectionSearchState, run: StageRun) -> CoverageUpdate:
    """Return what became of the pages, which queries the collection answers, and the next queries.

    The run is `coverage_verified` when the collection answers the question and every planned
    query, whatever became of single pages; else, and after any failure, `coverage_incomplete`.
    """
    check, before = _Check(state, run), state["coverage"]
    started = time.monotonic()
    ingestion = await check.follow_ticket()
    waited_s = round(time.monotonic() - started, 3)
    answers = await check.ask_collection()
    searched = state["strategy"]["queries"]
    if before is not None:
        searched = [*before["searched"], *before["next_queries"]]
    coverage = build_coverage(
        state["collection_scope"],
        answers,
        searched=searched,
        purpose=check.purpose,
        ingestion=ingestion,
        search_round=review_round(state),
        error=check.error,
    )
    if coverage["gaps"] and coverage["round"] <= state["max_rounds"]:
        coverage["next_queries"] = await check.plan_next_queries(coverage)
    if answers:
        await check.record(coverage)
    is_verified = bool(answers) and not coverage["gaps"] and check.error is None
    return {
        "coverage": coverage,
        "outcome": "coverage_verified" if is_verified else "coverage_incomplete",
        "flags": [],
        "telemetry": _facts(coverage) | {"waited_s": waited_s} | check.spent(),
    }


@dataclass(slots=True)
class _Check:
    """The steps of a verification; a failure is recorded, and the next step is tried."""

    state: CollectionSearchState
    run: StageRun
    error: str | None = None
    """The first failure."""
    usages: list[CallUsage] = field(default_factory=list)
    """What the calls of models took."""

    @property
    def _scope(self) -> TenantScope:
        return TenantScope(self.run.context.tenant(), self.state["collection_scope"])

    @property
    def purpose(self) -> str:
        """Return the words of the purpose that may be searched for."""
        return self.run.context.searched_purpose(self.state["purpose"])

    def spent(self) -> dict[str, Any]:
        """Return tokens and cost of all calls, each None where a part of it is not known."""
        return {
            "input_tokens": sum_tokens(each.input_tokens for each in self.usages),
            "output_tokens": sum_tokens(each.output_tokens for each in self.usages),
            "cost_usd": total_if_known(each.cost_usd for each in self.usages),
        }

    async def follow_ticket(self) -> IngestionCoverage | None:
        """Return what became of the run's pages; None without a ticket that can be followed."""
        receipt = self.state["ingestion"]
        if receipt is None or receipt["ticket"] is None:
            return None
        try:
            return await await_ingestion(
                receipt["ticket"], self._scope, self.run.context, on_progress=self._tell_progress
            )
        except Exception as error:  # noqa: BLE001 - a host's store may raise anything
            self._fail(error)
            return None

    async def ask_collection(self) -> list[AnsweredQuery]:
        """Return the collection's answers to the question and its queries; none after a failure."""
        state, run = self.state, self.run
        queries = unique_queries([state["question"], *state["strategy"]["queries"]])
        context = run.context.model_copy(update=dict(run.ids))  # costs belong to this run
        context, meter = await with_meter(context)
        try:
            await self._require(queries)
            return await ask_queries(
                queries,
                questions=[state["question"]],
                collection=state["collection_scope"],
                context=context,
                on_query=self._tell_query,
            )
        except Exception as error:  # noqa: BLE001 - a host's store or embedder may raise anything
            self._fail(error)
            return []
        finally:
            tokens = meter.input_tokens, meter.output_tokens
            self.usages.append(CallUsage("", *tokens, meter.cost_usd))

    async def record(self, coverage: Coverage) -> None:
        """Store the result with the question."""
        await record_coverage(self.run.context, self._scope, self.state["question"], coverage)

    async def plan_next_queries(self, coverage: Coverage) -> list[str]:
        """Return the queries that the model proposes for the gaps, else those without a model."""
        model = await self.run.context.query_model()
        if model is None:
            return coverage["next_queries"]
        proposed = await self._proposed(model, "; ".join(coverage["gaps"]))
        return gap_queries(
            coverage["gaps"], coverage["searched"], purpose=self.purpose, proposed=proposed
        )

    async def _proposed(self, model: QueryModel, gaps: str) -> Sequence[str]:
        """Return the model's queries, none when it fails; it reads no text of a page."""
        run = self.run
        trace = run.context.trace(run.ids)
        with run.sink.span("plan_next_queries", kind="generation", trace=trace) as span:
            try:
                plan = await paid_plan(
                    model,
                    gaps,
                    purpose=self.purpose,
                    account=run.account,
                    span=span,
                    listener=run.listener,
                )
            except Exception as error:  # noqa: BLE001 - any model's failure; it is logged here
                span.fail(type(error).__name__, error_message(error))
                if not isinstance(error, CostLimitReached):
                    log_failure(logger, "planning for gaps failed", error)
                spent = usage_of_failure(error, "chat", model.model_name, run.account.prices)
                self.usages.append(spent)
                return ()
        given, made = plan.input_tokens, plan.output_tokens
        asked = model.model_name
        cost = run.account.prices.chat_cost(plan.model, given, made, asked=asked)
        self.usages.append(CallUsage(plan.model, given, made, cost))
        return plan.queries

    async def _require(self, queries: Sequence[str]) -> None:
        """Raise CostLimitReached where the run may not embed all queries; each reserves its own."""
        context, account = self.run.context, self.run.account
        embedder = await embedder_for(context, await context.storage(), self._scope)
        if embedder is not None:
            name = embedder.fingerprint
            price = account.prices.embedding_cost(name, tokens_in(queries))
            account.budget.require(price, "embedding", name)

    def _fail(self, error: Exception) -> None:
        message = error_message(error)
        if self.error is None:
            self.error = message
            self.run.span.fail(type(error).__name__, message)
        extra = {**self.run.ids, "cause": message}
        log_failure(logger, "the coverage could not be verified", error, extra=extra)

    def _tell_progress(self, status: TicketStatus) -> None:
        self.run.emit(
            {
                "type": "ingestion_progress",
                "node": self.run.name,
                "ticket": status.ticket_id,
                "count": status.count,
                "stored": status.stored,
                "failed": status.failed + status.retired,
                "pending": status.left(fetch=True),
            }
        )

    def _tell_query(self, coverage: QueryCoverage) -> None:
        self.run.emit(
            {
                "type": "query_verified",
                "node": self.run.name,
                "query": coverage["query"],
                "answered": coverage["answered"],
                "best_score": coverage["best_score"],
            }
        )


def _facts(coverage: Coverage) -> dict[str, Any]:
    """Return the coverage in figures."""
    ingestion = coverage["ingestion"]
    facts: dict[str, Any] = {
        "round": coverage["round"],
        "query_count": len(coverage["queries"]),
        "answered_count": len(coverage["queries"]) - len(coverage["gaps"]),
        "answered_ratio": coverage["answered_ratio"],
        "gap_count": len(coverage["gaps"]),
        "next_query_count": len(coverage["next_queries"]),
        "error": coverage["error"],
    }
    if ingestion is None:
        return facts
    return facts | {
        "ticket": ingestion["ticket"],
        "success_ratio": ingestion["success_ratio"],
        "stored_count": ingestion["stored"],
        "failed_count": ingestion["failed"],
        "pending_count": ingestion["pending"],
        "timed_out": ingestion["timed_out"],
    }
