"""`collection-search doctor`: which parts work, and what to do about those that do not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .shared.context_options import AsJson  # noqa: TC001 - typer reads the annotations
from .shared.exit_codes import ExitCode
from .shared.metrics_file import prepare_metrics
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..tools.doctor.diagnosis import Diagnosis
    from ..tools.doctor.finding import Finding

_STYLES: Final = {"ok": "green", "failed": "red", "unchecked": "yellow", "off": "dim"}
_STATES: Final = {"ok": "ok", "failed": "FAILED", "unchecked": "not checked", "off": "not set up"}


def doctor(
    *,
    provider: Annotated[
        str | None, typer.Option("--provider", help="Look at this search provider alone.")
    ] = None,
    spend: Annotated[
        bool, typer.Option("--spend", help="Search once, paid, where no free call tells enough.")
    ] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show also what is not set up, and what it needs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check providers, models, store, tracing and web_search.

    Nothing is spent without --spend, and what is not set up is not contacted.
    """
    from ..context import SearchContext
    from ..settings import Settings
    from ..settings.provider_choice import refuse_unknown_choices
    from ..tools.doctor.diagnosis import diagnose

    screen = Screen(as_json=as_json)
    context = SearchContext(settings=Settings.load())
    prepare_metrics(context.using())
    asyncio.run(refuse_unknown_choices(context.using(), "fallback_provider"))
    found = asyncio.run(diagnose(context, provider=provider, spend=spend))
    if as_json:
        chosen = {"name": found.provider, "reason": found.reason}
        parts = [finding.as_json() for finding in found.findings]
        notices = list(found.notices)
        screen.json({"ok": found.is_well, "provider": chosen, "notices": notices, "parts": parts})
    else:
        _show(found, screen, shows_all=show_all or provider is not None)
    raise typer.Exit(ExitCode.DONE if found.is_well else ExitCode.PROVIDER_FAILED)


def _show(found: Diagnosis, screen: Screen, *, shows_all: bool) -> None:
    _tell(f"A run searches with {found.provider or 'nothing'} ({found.reason}).", screen)
    for notice in found.notices:
        _tell(f"Note: {notice}", screen)
    off = [finding for finding in found.findings if finding.state == "off"]
    set_up = [finding for finding in found.findings if finding.state != "off"]
    for finding in [*set_up, *off] if shows_all else set_up:
        _show_finding(finding, screen)
    if off and not shows_all:
        names = ", ".join(one.name if one.part == "search" else one.part for one in off)
        _tell(f"Not set up: {names}; --all shows what each one needs.", screen)
    broken = [f"{one.part} {one.name}" for one in found.findings if one.state == "failed"]
    if broken:
        screen.fail(f"Does not work: {', '.join(broken)}.")


def _show_finding(finding: Finding, screen: Screen) -> None:
    name, state, facts = f"{finding.part} {finding.name}", finding.state, "; ".join(finding.facts())
    if screen.width is None:
        screen.line(f"{name}: {'; '.join(filter(None, (_STATES[state], facts)))}")
    else:
        screen.line(f"{name}: {_STATES[state]}", style=_STYLES[state])
        _tell(facts, screen, indent=2)
    if finding.next_step:
        _tell(f"next: {finding.next_step}", screen, indent=2)


def _tell(text: str, screen: Screen, *, indent: int = 0) -> None:
    """Print a text: one line for a program, broken between words on a terminal."""
    if screen.width is None:
        screen.line(f"{' ' * indent}{text}")
    else:
        screen.rows(screen.wrap(text, indent=indent))
