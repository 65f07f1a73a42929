"""Arguments and options that several sub-commands share, and the context that they describe."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .completion import complete_collections
from .exit_codes import refuse_option
from .metrics_file import prepare_metrics

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...settings import Settings

_LOGGER: Final = logging.getLogger(__name__)

QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.")]
Collection = Annotated[
    str,
    typer.Option(
        "--collection", "-c", help="Name of the collection.", autocompletion=complete_collections
    ),
]
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", help="Whose collections; by default those of the settings' tenant."),
]
Provider = Annotated[
    str | None,
    typer.Option("--provider", help="Search provider; auto takes the first usable one."),
]
ModelName = Annotated[
    str | None, typer.Option(help="Chat model that plans the queries, as provider:model.")
]
ProfileName = Annotated[
    str | None, typer.Option(help="Ranking profile: default (calibrated) or literal.")
]
Embeddings = Annotated[
    str | None, typer.Option(help="Embedder, as provider:model; lexical needs no model.")
]
Ensemble = Annotated[
    str | None,
    typer.Option(help="Further embedders, separated by spaces; the mean of all ranks."),
]
RerankerName = Annotated[
    str | None,
    typer.Option("--reranker", help="Judge of premium: model (chat model), local:FOLDER, none."),
]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Leave the ingestion to 'collection-search worker'.")
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost", min=0, metavar="USD", help="Ceiling of what it may cost, in dollars."
    ),
]
CaseNumber = Annotated[str | None, typer.Option("--case", help="Your own case or ticket number.")]
UnaskedPaid = Annotated[bool, typer.Option("--yes", help="Do not ask before an embedder is paid.")]
Pdf = Annotated[
    bool | None,
    typer.Option("--pdf/--no-pdf", help="PDFs only, or everything else; by default both."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

_FLAGS: Final = {
    "tenant_id": "--tenant",
    "case_id": "--case",
    "ranking_profile": "--profile",
    "max_cost_usd": "--max-cost",
}
"""Flags whose name differs from the field's."""


def search_context(**choices: Any) -> SearchContext:
    """Return the context with the settings of this machine and the given choices.

    Raises InputError for an invalid choice, ConfigError for wrong settings or a data folder that
    can neither be written nor has collections to read.
    """
    from pydantic import ValidationError

    from ...context import SearchContext
    from ...settings import Settings

    settings = Settings.load()
    settings.readable_home()
    prepare_metrics(settings)
    _warn_of_missing_tracing_key(settings)
    try:
        return SearchContext(settings=settings, **choices)
    except ValidationError as error:
        raise refuse_option(error, _FLAGS) from error


def chosen_options(context: SearchContext) -> dict[str, str | None]:
    """Return the options of a run that a next command needs as well."""
    return {
        "provider": context.provider,
        "model": context.model,
        "embeddings": context.embeddings,
        "ensemble": context.ensemble if isinstance(context.ensemble, str) else None,
        "profile": context.ranking_profile,
        "reranker": context.reranker,
    }


def review_options(context: SearchContext) -> dict[str, str | None]:
    """Return the options that an answer to the context's reviews needs."""
    limit = context.max_cost_usd
    return {
        "tenant": context.tenant_id,
        **chosen_options(context),
        "max-cost": None if limit is None else f"{limit:g}",
    }


def _warn_of_missing_tracing_key(settings: Settings) -> None:
    has_secret = bool(settings.langfuse_secret_key) or "langfuse" in settings.stored_keys
    if bool(settings.langfuse_public_key) != has_secret and settings.langfuse_tracing:
        missing = "LANGFUSE_PUBLIC_KEY" if has_secret else "LANGFUSE_SECRET_KEY"
        _LOGGER.warning("nothing is traced: %s is missing", missing)
