"""`collection-search review`: the runs that wait for a person, and the answers to them."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path  # noqa: TC003 - typer reads it from the signature
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import InputError
from .shared.context_options import (
    AsJson,
    Embeddings,
    Ensemble,
    MaxCost,
    ModelName,
    ProfileName,
    Provider,
    RerankerName,
    Tenant,
    review_options,
    search_context,
)
from .shared.near_names import refuse_swallowed
from .shared.next_steps import shell_command
from .shared.review_decision import (
    build_decision,
    login_name,
    parse_choice,
    refused_numbers,
    visible_numbers,
)
from .shared.review_file import read_decision, write_review
from .shared.review_host import open_host
from .shared.review_job import ReviewJob
from .shared.review_outcome import LEFT_TO_SERVER, format_review
from .shared.review_view import format_reviews, list_review
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..contracts.review import Gate

_OPEN: Final = (
    "is past its deadline and was not decided: the program that asked for it keeps its run, so"
    " answer it there, or end it by --reject; or its run failed, and -v says why."
)
_DECIDED: Final = (
    "is decided, but its run has not ended: it failed, and -v says why, or another process is at"
    " it. A later sweep resumes it."
)


def review(
    gate: Annotated[
        str | None, typer.Argument(metavar="[GATE]", help="By default the open ones are listed.")
    ] = None,
    *,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="List only those of a collection.")
    ] = None,
    approve: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            callback=refuse_swallowed,
            help="Candidates to ingest: all, none, or numbers such as 1,3-5; may be repeated.",
        ),
    ] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Ingest nothing.")] = False,
    add: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            callback=refuse_swallowed,
            help="A further page to ingest; may be repeated.",
        ),
    ] = None,
    comment: Annotated[str | None, typer.Option(help="Why; it is kept.")] = None,
    approver: Annotated[
        str | None, typer.Option(help="Who decides; by default your login name.")
    ] = None,
    pdf: Annotated[
        bool | None,
        typer.Option("--pdf/--no-pdf", help="Show, and approve by 'all', PDFs only; or none."),
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a decision to edit: YAML or JSON.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Decide as this file says.")
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Decide what is past its deadline, by its policy.")
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Reviews of a LangGraph server, not of this machine."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="Sent to the server; may be repeated."),
    ] = None,
    provider: Provider = None,
    model: ModelName = None,
    embeddings: Embeddings = None,
    ensemble: Ensemble = None,
    profile: ProfileName = None,
    reranker: RerankerName = None,
    max_cost: MaxCost = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List, show and decide the runs that wait for a person.

    After the decision the run goes on here, to its end or to the next review; that of
    `collection-search serve` goes on there. Provider, model, embeddings and ceiling are for its
    further searches. Exit codes: 0 decided, or still open; 2 a wrong or late answer, which changes
    nothing; 3 the collection does not answer every query; 5 pages were not ingested.
    """
    context = search_context(
        provider=provider,
        model=model,
        embeddings=embeddings,
        ensemble=ensemble,
        ranking_profile=profile,
        reranker=reranker,
        tenant_id=tenant,
        max_cost_usd=max_cost,
    )
    options = review_options(context) | {"server": server}
    job = ReviewJob(
        open_host(context, server, header or ()),
        context,
        Screen(as_json=as_json),
        options,
        is_local=server is None,
    )
    answer = {"approve": approve, "reject": reject, "add": add, "comment": comment}
    named = [name for name, given in (answer | {"file": file, "write": write}).items() if given]
    _refuse_conflicts(gate, named, sweep=sweep)
    if sweep:
        _sweep(job)
    elif gate is None and file is None:
        _list(job, collection)
    elif file is not None:
        gate_id, decision = read_decision(file, gate)
        if decision.get("approver") is None:
            decision["approver"] = approver or login_name()
        raise typer.Exit(job.decide(job.open_gate(gate_id), decision))
    else:
        found = job.open_gate(str(gate)) if named else job.find_gate(str(gate))
        visible = visible_numbers(found.candidates, pdf=pdf)
        if write is not None:
            write_review(write, found, visible, options)
            job.screen.note(f"Wrote {write}. Edit its decision, then: {_apply(found, write, job)}")
            return
        if approve or reject or add:
            numbers = ",".join(approve or ["none"])
            chosen = parse_choice(
                numbers,
                count=len(found.candidates),
                visible=visible,
                refused=refused_numbers(found.candidates),
            )
            decision = build_decision(
                found.candidates, chosen, added=add or (), comment=comment, approver=approver
            )
            raise typer.Exit(job.decide(found, decision))
        raise typer.Exit(job.ask(found, visible, approver=approver))


def _refuse_conflicts(gate: str | None, named: list[str], *, sweep: bool) -> None:
    """Raise InputError for options that exclude each other."""
    others = [f"--{name}" for name in named]
    if sweep and (gate or others):
        raise InputError("--sweep stands alone: it decides by the policies of the deadlines.")
    for name in ("file", "write"):
        if name in named and len(named) > 1:
            rest = ", ".join(one for one in others if one != f"--{name}")
            raise InputError(f"--{name} and {rest} exclude each other.")
    if "reject" in named and {"approve", "add"} & set(named):
        raise InputError("--reject excludes --approve and --add: it ingests nothing.")
    if gate is None and set(named) - {"file"}:
        raise InputError(f"{others[0]} needs the GATE that it is for: list them by 'review'.")
    if named == ["comment"]:
        raise InputError("--comment goes with --approve, --reject or --add.")


def _apply(gate: Gate, path: Path, job: ReviewJob) -> str:
    return shell_command("review", gate.gate_id, file=str(path), **job.options)


def _list(job: ReviewJob, collection: str | None) -> None:
    gates = asyncio.run(job.host.agates(collection=collection))
    if job.screen.as_json:
        job.screen.json({"reviews": [list_review(gate) for gate in gates]})
        return
    for line in format_reviews(gates):
        job.screen.line(line)
    if gates:
        job.screen.line()
        now = time.time()
        gate = next((gate for gate in gates if not gate.is_overdue(now)), None)
        job.screen.line("Next, decide one:" if gate else "Next, apply the policy:")
        options = dict(job.options)
        if gate and gate.host == "server" and job.is_local:
            options["server"] = "ADDRESS"
        command = shell_command("review", gate.gate_id if gate else "--sweep", **options)
        job.screen.line(f"  {command}")
    else:
        job.screen.note("No review is open.")


def _sweep(job: ReviewJob) -> None:
    gates, left = asyncio.run(_swept(job))
    if job.screen.as_json:
        rows: list[dict[str, Any]] = [
            {
                "gate_id": gate.gate_id,
                "collection": gate.collection,
                "review": gate.decision,
                "left_to_server": job.is_served(gate),
            }
            for gate in gates
        ]
        job.screen.json({"swept": rows, "left": [gate.gate_id for gate in left]})
        return
    for gate in gates:
        job.screen.line(f"{gate.gate_id}  {gate.collection}  {format_review(gate.decision)}")
        if job.is_served(gate):
            job.screen.line(f"  {LEFT_TO_SERVER}")
        elif job.is_local and gate.decision["status"] != "rejected":
            where = {"collection": gate.collection, "tenant": gate.tenant_id}
            job.screen.line(f"  what was not stored: {shell_command('ingest', 'failed', **where)}")
            asked = shell_command("ask", gate.question, **where)
            job.screen.line(f"  what it answers: {asked}")
    for gate in left:
        job.screen.warn(f"{gate.gate_id} {_OPEN if gate.state == 'open' else _DECIDED}")
    if not gates and not left:
        job.screen.note("No review is past its deadline.")


async def _swept(job: ReviewJob) -> tuple[list[Gate], list[Gate]]:
    """Return the reviews whose runs were resumed, and the others of this machine."""
    open_ones = await job.host.agates() if job.is_local else []
    swept = await job.host.asweep()
    done = {gate.gate_id for gate in swept}
    now = time.time()
    overdue = [gate for gate in open_ones if gate.is_overdue(now) and gate.gate_id not in done]
    left = []
    for gate in overdue:
        with suppress(InputError):  # it is withdrawn, since no run waits at it
            left.append(await job.host.afind_gate(gate.gate_id))
    return swept, [gate for gate in left if gate.state != "closed"]
