"""One review on the command line: shown, decided, and its run followed to its end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...text.counted import counted
from .criteria_view import list_criteria
from .exit_codes import ExitCode
from .failed_pages import warn_of_failed
from .next_steps import shell_command
from .pipeline_view import Pipeline
from .preparation import prepare_provider, release_on_interrupt
from .review_outcome import (
    LEFT_TO_SERVER,
    format_outcome,
    format_review,
    review_steps,
    review_verdict,
)
from .review_questions import ask_decision, is_interactive
from .review_view import (
    TITLE_COLUMN,
    format_candidate,
    format_deadline,
    list_review,
)
from .run_ingestion import follow_ingestion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...context import SearchContext
    from ...contracts.review import Gate
    from .failed_pages import UningestedPage
    from .review_host import ReviewHost
    from .terminal import Screen


@dataclass
class ReviewJob:
    """A place of reviews, and the screen on which one of them is decided."""

    host: ReviewHost
    context: SearchContext
    screen: Screen
    options: Mapping[str, str | None]
    """Options of the command that a next one needs as well."""
    is_local: bool = True

    def show(self, gate: Gate, visible: Sequence[int]) -> None:
        """Print what is asked, the visible candidates, and the decision where there is one."""
        if self.screen.as_json:
            shown = [one for n, one in enumerate(gate.candidates, start=1) if n in visible]
            facts: dict[str, Any] = {"threshold": gate.threshold, "candidates": shown}
            facts["threshold_reason"] = gate.threshold_reason
            facts |= {"state": gate.state, "review": gate.decision or None}
            self.screen.json(list_review(gate) | facts)
            return
        line, width = self.screen.line, self.screen.width or 100
        line(f"{gate.question}", style="bold")
        hidden = len(gate.candidates) - len(visible)
        without = f" ({hidden} not shown)" if hidden else ""
        line(f"Collection {gate.collection}, {counted(len(visible), 'candidate')}{without}")
        if gate.decision:
            line(f"{format_review(gate.decision)}, at {gate.decision['decided_at']}")
        else:
            until = format_deadline(gate)
            line(f"{until[0].upper()}{until[1:]} (threshold {gate.threshold:g})")
        if gate.threshold_reason:
            line(f"Threshold {gate.threshold:g}: {gate.threshold_reason}")
        if criteria := [*list_criteria(gate.candidates)]:
            line("Every page must meet:")
            for criterion in criteria:
                line(criterion)
        line()
        for number in visible:
            title, *rest = format_candidate(
                number, gate.candidates[number - 1], threshold=gate.threshold, width=width
            )
            line(title, style="bold", hang=TITLE_COLUMN)
            for text in rest:
                line(text)
        line()

    def open_gate(self, gate_id: str) -> Gate:
        """Return an open gate. Raises InputError."""
        return asyncio.run(self.host.agate(gate_id))

    def find_gate(self, gate_id: str) -> Gate:
        """Return a gate, also a decided one of this machine. Raises InputError."""
        return asyncio.run(self.host.afind_gate(gate_id))

    def ask(self, gate: Gate, visible: Sequence[int], *, approver: str | None = None) -> ExitCode:
        """Show the candidates, ask the person, and decide.

        Nobody is asked without a terminal, or where an answer does not count any more.
        """
        self.show(gate, visible)
        if gate.state != "open":
            return ExitCode.DONE
        if gate.is_overdue(time.time()):
            sweep = shell_command("review", "--sweep", server=self.options.get("server"))
            self.screen.note(f"It is too late for an answer. Apply the policy by: {sweep}")
            return ExitCode.DONE
        if not is_interactive(self.screen):
            self.screen.note("Nothing was decided. Answer by --approve, --reject, --add or --file.")
            return ExitCode.DONE
        return self.decide(gate, ask_decision(gate, visible, self.screen, approver=approver))

    def decide(self, gate: Gate, decision: Mapping[str, Any]) -> ExitCode:
        """Decide the gate, follow the run to its end or next gate, and print what became of it.

        Raises InputError for a decision that is not valid or came too late: nothing is changed.
        """
        from ...tools.reviews import validate_decision

        answer = validate_decision(gate, decision)
        if answer.status == "pending":
            self.screen.note(
                f"Nothing was decided: {gate.gate_id} stays open, its status is pending."
            )
            return ExitCode.DONE
        failed: Sequence[UningestedPage] = ()
        with release_on_interrupt(self.context):
            goes_on_here = self.is_local and not self.is_served(gate)
            if goes_on_here and answer.status != "rejected":
                self._prepare(gate)
            output = asyncio.run(self._decided(gate, answer.model_dump()))
            if output.get("left_to_server"):
                return self._tell_left(output)
            if goes_on_here and (output["coverage"] or {}).get("ingestion") is None:
                output["ingestion"], failed = follow_ingestion(
                    output["ingestion"], self.context, self.screen
                )
        return self._tell(output, gate, failed)

    def is_served(self, gate: Gate) -> bool:
        """Return whether `collection-search serve` goes on with the run, and not this command."""
        from ...tools.served_runs import is_served

        return self.is_local and asyncio.run(is_served(self.context, gate))

    def _prepare(self, gate: Gate) -> None:
        """Build what the run still needs, so that its errors come before the decision."""
        asyncio.run(self.context.embedder())
        if gate.may_search_again:
            asyncio.run(self.context.query_model())
            prepare_provider(self.context, self.screen)

    async def _decided(self, gate: Gate, answer: Mapping[str, Any]) -> dict[str, Any]:
        with Pipeline(self.screen) as pipeline:
            return dict(await self.host.adecide(gate.gate_id, answer, on_event=pipeline.show))

    def _tell_left(self, output: Mapping[str, Any]) -> ExitCode:
        if self.screen.as_json:
            self.screen.json(output)
        else:
            self.screen.line(format_review(output["review"]))
            self.screen.line(LEFT_TO_SERVER)
        return ExitCode.DONE

    def _tell(
        self, output: Mapping[str, Any], gate: Gate, failed: Sequence[UningestedPage]
    ) -> ExitCode:
        if self.screen.as_json:
            self.screen.json(output)
        else:
            steps = review_steps(output, collection=gate.collection, options=self.options)
            for line in (*format_outcome(output, width=self.screen.table_width), "", *steps):
                self.screen.line(line)
        if "answer_not_used" in output["flags"]:
            self.screen.warn(
                "your answer was not used: the review was decided before it, see the decision"
            )
        warn_of_failed(failed, self.screen)
        code, complaint = review_verdict(output, fetches=self.context.fetches())
        if complaint:
            self.screen.fail(complaint)
        return code
