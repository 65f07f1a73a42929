"""Restriction of a remote caller on a server to the choices of its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigError
from .ensemble import split_names
from .provider_choice import is_configured

if TYPE_CHECKING:
    from . import Settings


class RemoteChoice(Protocol):
    """The fields of a context that are validated here."""

    provider: Any
    model: Any
    embeddings: Any
    ensemble: str | list[Any] | None
    reranker: Any
    max_cost_usd: float | None
    search_purpose: bool | None


def restrict_remote_caller(asked: RemoteChoice, server: Any, settings: Settings) -> dict[str, Any]:
    """Return the fields that replace those of a remote caller's context.

    The tenant is the authenticated user of the host's `server`. The ceiling of the cost can only
    be lowered, and the search for the purpose's words can only be switched off. Raises ConfigError
    for a provider, model or embedder that is not in the settings, and for a user without an
    identity; a retry does not help.
    """
    named = {*settings.providers, *settings.stored_keys}
    providers = {name for name in named if is_configured(settings, name)}
    known = {settings.provider, settings.default_provider, "auto", "offline"}
    for field, allowed in (
        ("provider", known | providers),
        ("model", {settings.model}),
        ("embeddings", {settings.embeddings, "lexical"}),
        ("reranker", {settings.reranker, "model", "none"}),
    ):
        name = getattr(asked, field)
        if isinstance(name, str) and name not in allowed:
            raise ConfigError(f"{field} {name!r} is not configured on this server.")
    allowed = {settings.embeddings, *split_names(settings.ensemble)}
    for name in split_names(asked.ensemble):
        if isinstance(name, str) and name not in allowed:
            raise ConfigError(f"ensemble {name!r} is not configured on this server.")
    user = getattr(server, "user", None)
    tenant = settings.tenant if user is None else getattr(user, "identity", None)
    if not tenant:
        raise ConfigError("The authenticated user has no identity, so there is no tenant.")
    limits = [limit for limit in (settings.max_cost_usd, asked.max_cost_usd) if limit is not None]
    return {
        "tenant_id": tenant,
        "run_id": None,
        "invocation_id": None,
        "max_cost_usd": min(limits, default=None),
        "search_purpose": asked.search_purpose if settings.search_purpose else False,
    }
