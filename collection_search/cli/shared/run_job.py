"""One run of the graph on the command line: its progress and its summary."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...errors import ModelError
from .context_options import chosen_options, review_options
from .criteria_view import format_criteria, verdict_rows
from .exit_codes import Interrupted
from .failed_pages import warn_of_failed
from .interruption import ACCEPTED, NOT_BEGUN, PAID
from .live_hint import suggest_live_settings
from .next_steps import next_steps, run_options
from .pipeline_view import Pipeline
from .preparation import flush_on_exit, prepare_provider
from .review_outcome import review_steps
from .run_exit_code import exit_verdict
from .run_ingestion import WAIT_S, follow_ingestion
from .run_summary import (
    HEADER,
    INDENT,
    format_ingestion,
    format_search,
    format_warnings,
    score_rows,
)
from .signals import stop_grace_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...context import SearchContext
    from ...ports import Storage
    from .exit_codes import ExitCode
    from .failed_pages import UningestedPage
    from .terminal import Screen

NO_COLLECTION: Final = "preview"
"""Scope of a run that ingests nothing and names no collection; nothing of that name is made."""


@dataclass
class Job:
    """A question with its context, and the screen for the answer."""

    given: Mapping[str, Any]
    """The graph's input."""
    context: SearchContext
    screen: Screen
    waits: bool = True
    """False: the ingestion is left to a worker."""
    reviewed: bool = False
    """True: the run pauses until a person has decided what is ingested."""
    output: dict[str, Any] = field(default_factory=dict)
    """The graph's output once the run has ended; `ingestion` gains a `status`."""
    failed: Sequence[UningestedPage] = ()
    """Pages that could not be ingested."""
    store: Storage | None = None
    """Set once it is open."""
    has_begun: bool = False
    """Whether the question may have been searched."""

    def run(self) -> None:
        """Run the graph and wait for its ingestion. Raises Interrupted after a signal."""
        with flush_on_exit(self.context):
            try:
                self._prepare()
                self.has_begun = True
                self.output = asyncio.run(self._searched())
                self.output["ingestion"], self.failed = follow_ingestion(
                    self.output["ingestion"],
                    self.context,
                    self.screen,
                    timeout_s=WAIT_S if self.waits else 0.0,
                )
            except KeyboardInterrupt:
                raise self._interrupted() from None

    def print_summary(self) -> ExitCode:
        """Print the results and return the exit code."""
        if self.screen.as_json:
            self.screen.json(self.output)
        else:
            self._tell()
        for warning in format_warnings(self.output):
            self.screen.warn(warning)
        warn_of_failed(self.failed, self.screen)
        code, complaint = exit_verdict(
            self.output, waited=self.waits, fetches=self.context.fetches()
        )
        if complaint:
            self.screen.fail(complaint)
        return code

    def _prepare(self) -> None:
        """Build every part of the run, so that its errors come before the run starts."""
        asyncio.run(self.context.query_model())
        asyncio.run(self.context.embedder())
        self.store = asyncio.run(self.context.storage())
        prepare_provider(self.context, self.screen)
        self.context.ingests = self.waits

    async def _searched(self) -> dict[str, Any]:
        """Return the graph's output, and show its nodes while they run.

        Raises ModelError for a refused key of a model that is not optional.
        """
        with Pipeline(self.screen) as pipeline:
            try:
                output = await (self._paused(pipeline) if self.reviewed else self._ended(pipeline))
            except ModelError as error:
                raise _with_ways_out(error) from error
        if self.context.cassette and self.context.cassette.missing:  # nothing was sent
            nothing = {"cost_usd": 0.0, "cost_complete": True}
            output["telemetry"] = {**output["telemetry"], **nothing}
        return output

    async def _ended(self, pipeline: Pipeline) -> dict[str, Any]:
        """Return the output of the search graph."""
        from ...graphs.collection_search import CollectionSearchGraph, output_of

        final: Mapping[str, Any] = {}
        graph = CollectionSearchGraph(self.context)
        async for mode, chunk in graph.astream(self.given, stream_mode=["custom", "values"]):
            if mode == "custom":
                pipeline.show(chunk)
            else:
                final = chunk
        return dict(output_of(final))

    async def _paused(self, pipeline: Pipeline) -> dict[str, Any]:
        """Return the output of the review graph at its gate, or at an end before it."""
        from ...graphs.collection_review import CollectionReviewGraph

        graph = CollectionReviewGraph(self.context)
        return dict(await graph.arun(self.given, on_event=pipeline.show))

    def _interrupted(self) -> Interrupted:
        """Release the claimed pages and return the error to raise."""
        from ...tools.ingest import engine_of

        if self.store is not None:
            engine_of(self.store, self.context.using()).stop(timeout_s=stop_grace_s())
        if not self.has_begun:
            return Interrupted(NOT_BEGUN)
        ingests = self.given["auto_ingest"] or self.output.get("ingestion")
        told = f"{ACCEPTED} To start over, run the command again." if ingests else PAID
        return Interrupted(told, self.output.get("outcome"))

    def _tell(self) -> None:
        self._section(format_search(self.output))
        self._section(format_criteria(self.output))
        if results := self.output["results"]:
            self.screen.line(HEADER, style="bold")
            threshold, width = self.given.get("auto_ingest_min_score", 0.0), self.screen.width
            rows = zip(results, score_rows(results, threshold=threshold, width=width), strict=True)
            for result, (scores, url, why, *judged) in rows:
                self.screen.line(scores)
                self.screen.link(url, indent=len(INDENT))
                self.screen.rows(self.screen.wrap(why, indent=len(INDENT)), style="dim")
                for line in judged:
                    self.screen.line(line, style="dim")
                for row in verdict_rows(result, width=width):
                    self.screen.line(row)
            self.screen.line()
        self._section(format_ingestion(self.output))
        self._section(self._steps())
        self._section(suggest_live_settings(self.output))

    def _steps(self) -> Iterator[str]:
        collection, tenant = self.given["collection_scope"], self.context.tenant_id
        if self.reviewed:
            options = review_options(self.context)
            return review_steps(self.output, collection=collection, options=options)
        limit = self.context.max_cost_usd
        chosen = {
            **chosen_options(self.context),
            **run_options(self.given),
            "case": self.context.case_id,
            "max-cost": None if limit is None else f"{limit:g}",
        }
        return next_steps(
            self.output,
            collection="" if collection == NO_COLLECTION else collection,
            tenant=tenant,
            chosen=chosen,
            flags=["--model-optional"] if self.context.model_optional else [],
        )

    def _section(self, lines: Iterable[str]) -> None:
        section = list(lines)
        for line in [*section, ""] if section else ():
            self.screen.line(line)


def _with_ways_out(error: ModelError) -> ModelError:
    """Return the error with what the command can do without its model."""
    if not error.key_refused:
        return error
    return ModelError(
        f"{error} Nothing was searched. Add --model-optional to search without the model, with"
        " queries made from the question's words.",
        may_be_billed=error.may_be_billed,
        unavailable=error.unavailable,
        key_refused=True,
    )
