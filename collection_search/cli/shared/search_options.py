"""The options of a search on the command line, and the report about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .exit_codes import refuse_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...contracts.options import SearchOptions
    from .terminal import Screen

_FLAGS: Final = {
    "includeDomains": "--include",
    "excludeDomains": "--exclude",
    "domainMode": "--restrict",
    "includeContent": "--content",
    "searchDepth": "--deep",
}
"""Flags whose name differs from the option's."""

_APPLIED: Final[Mapping[str, str]] = {
    "native": "was applied by {}",
    "emulated": "is no option of {} and was done in another way",
    "post_filtered": "is no option of {}: results that do not fit were dropped",
    "unsupported": "is not supported by {} and was left out",
}
"""What is said of an option, with the provider's name."""


def search_options(
    *,
    include: list[str] | None,
    exclude: list[str] | None,
    restrict: bool,
    deep: bool,
    content: bool,
    **others: str | None,
) -> SearchOptions:
    """Return the search options. Raises InputError naming the flag that cannot be used."""
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
        raise refuse_option(error, _FLAGS) from error
    return NO_OPTIONS if options == NO_OPTIONS else options


def show_applied(applied: Mapping[str, Any], provider: str, screen: Screen) -> None:
    """Print for each requested option what the provider, or the worker, made of it."""
    for name, one in applied.items():
        requested = one["requested"]
        shown = ",".join(requested) if isinstance(requested, list) else str(requested).lower()
        how = str(one["applied"])  # another package's adapter may have words of its own
        screen.note(f"{name}={shown} {_APPLIED.get(how, how).replace('{}', provider)}")


def _domains(given: list[str] | None) -> list[str]:
    """Return the domains of repeated flags, each with one or more domains.

    >>> _domains(["a.org, b.org", "c.org"]), _domains(None)
    (['a.org', 'b.org', 'c.org'], [])
    """
    return [part.strip() for each in given or () for part in each.split(",") if part.strip()]
