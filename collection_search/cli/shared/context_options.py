"""Options that several sub-commands share, and the context that they describe."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .error_output import refuse_option

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...settings import Settings

_LOGGER: Final = logging.getLogger(__name__)

Collection = Annotated[str, typer.Option("--collection", "-c", help="Name of the collection.")]
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", help="Whose collections; by default those of the settings' tenant."),
]
Provider = Annotated[
    str | None,
    typer.Option("--provider", help="Search provider; auto takes the first usable one."),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost", min=0, metavar="USD", help="Ceiling of what it may cost, in dollars."
    ),
]
UnaskedPaid = Annotated[bool, typer.Option("--yes", help="Do not ask before an embedder is paid.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

_FLAGS: Final = {
    "tenant_id": "--tenant",
    "case_id": "--case",
    "ranking_profile": "--profile",
    "max_cost_usd": "--max-cost",
}
"""Where a flag is not called as the field is."""


def search_context(**choices: Any) -> SearchContext:
    """Return the context with the settings of this machine and what was chosen beside them.

    Raises InputError for a choice that cannot be, ConfigError for wrong settings or a data folder
    that cannot be written.
    """
    from pydantic import ValidationError

    from ...context import SearchContext
    from ...settings import Settings

    settings = Settings.load()
    settings.prepared_home()
    _warn_of_half_a_tracing(settings)
    try:
        return SearchContext(settings=settings, **choices)
    except ValidationError as error:
        raise refuse_option(error, _FLAGS) from error


def _warn_of_half_a_tracing(settings: Settings) -> None:
    has_secret = bool(settings.langfuse_secret_key) or "langfuse" in settings.stored_keys
    if bool(settings.langfuse_public_key) != has_secret and settings.langfuse_tracing:
        missing = "LANGFUSE_PUBLIC_KEY" if has_secret else "LANGFUSE_SECRET_KEY"
        _LOGGER.warning("nothing is traced: %s is missing", missing)
