"""The options of a search on the command line, and what is told of them afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .error_output import refuse_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...contracts.options import SearchOptions
    from .terminal import Screen

Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="DOMAIN", help="Domains to prefer; repeat, or use commas."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="DOMAIN", help="Domains to leave out, written likewise."),
]
Restrict = Annotated[bool, typer.Option("--restrict", help="Nothing but the --include domains.")]
Topic = Annotated[str | None, typer.Option("--topic", help="general or news.")]
FreshnessOption = Annotated[
    str | None,
    typer.Option(
        "--freshness", help="day, week, month, year, or days such as 2026-01-01..2026-03-31."
    ),
]
LanguageOption = Annotated[str | None, typer.Option("--language", help="Two letters, such as de.")]
Country = Annotated[str | None, typer.Option("--country", help="Two letters, such as DE.")]
Deep = Annotated[bool, typer.Option("--deep", help="A deep search; it may cost more.")]
Content = Annotated[bool, typer.Option("--content", help="The pages' texts, too, with --json.")]

_FLAGS: Final = {
    "includeDomains": "--include",
    "excludeDomains": "--exclude",
    "domainMode": "--restrict",
    "includeContent": "--content",
    "searchDepth": "--deep",
}
"""Where a flag is not called as the option is."""

_PROBLEMS: Final = {
    "country": "give two letters, such as DE",
    "language": "give two letters, such as de",
}


def search_options(
    *,
    include: list[str] | None,
    exclude: list[str] | None,
    restrict: bool,
    deep: bool,
    content: bool,
    **others: str | None,
) -> SearchOptions:
    """Return what is wished. Raises InputError naming the flag that cannot be used."""
    from pydantic import ValidationError

    from ...contracts.options import NO_OPTIONS, SearchOptions
    from ...errors import InputError

    if restrict and not _domains(include):
        raise InputError("--restrict needs domains: name them with --include.")
    try:
        options = SearchOptions.model_validate(
            {
                "includeDomains": _domains(include),
                "excludeDomains": _domains(exclude),
                **({"domainMode": "restrict"} if restrict else {}),
                "searchDepth": "deep" if deep else None,
                "includeContent": content or None,
                **others,
            }
        )
    except ValidationError as error:
        raise refuse_option(error, _FLAGS, _PROBLEMS) from error
    return NO_OPTIONS if options == NO_OPTIONS else options


def show_applied(applied: Mapping[str, Any], screen: Screen) -> None:
    """Say of each option what was asked for and what became of it."""
    for name, one in applied.items():
        requested = one["requested"]
        shown = ", ".join(requested) if isinstance(requested, list) else str(requested).lower()
        screen.note(f"applied: {name} = {shown}: {one['applied']}")


def _domains(given: list[str] | None) -> list[str]:
    """Return the domains of repeated flags, each of which may hold several.

    >>> _domains(["a.org, b.org", "c.org"]), _domains(None)
    (['a.org', 'b.org', 'c.org'], [])
    """
    return [part.strip() for each in given or () for part in each.split(",") if part.strip()]
