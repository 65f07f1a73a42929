"""`collection-search doctor`: which parts work, and what to do about those that do not."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .shared.context_options import AsJson  # noqa: TC001 - typer reads the annotations
from .shared.exit_codes import ExitCode
from .shared.metrics_file import prepare_metrics
from .shared.terminal import Screen, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        screen.json({"ok": found.is_well, "provider": chosen, "parts": parts})
    else:
        _show(found, screen)
    raise typer.Exit(ExitCode.DONE if found.is_well else ExitCode.PROVIDER_FAILED)


def _show(found: Diagnosis, screen: Screen) -> None:
    screen.line(f"A run searches with {found.provider or 'nothing'} ({found.reason}).")
    if screen.width is None:
        for finding in found.findings:
            known = "; ".join([_STATES[finding.state], *finding.facts()])
            screen.line(f"{finding.part} {finding.name}: {known}")
            if finding.next_step:
                screen.line(f"  next: {finding.next_step}")
    else:
        _show_table(found.findings)
    broken = [f"{one.part} {one.name}" for one in found.findings if one.state == "failed"]
    if broken:
        screen.fail(f"Does not work: {', '.join(broken)}.")


def _show_table(findings: Sequence[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("Part", "State", "Known", "Next step", show_lines=True)
    for finding in findings:
        texts = (
            f"{finding.part} {finding.name}",
            _STATES[finding.state],
            "; ".join(finding.facts()),
            finding.next_step,
        )
        style = _STYLES[finding.state]
        table.add_row(*(Text(printable(text), style=style) for text in texts))
    Console(file=sys.stdout).print(table)
