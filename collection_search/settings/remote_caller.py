"""Restriction of a remote caller on a server to the choices of its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from ..errors import ConfigError
from ..text.problems import suggest
from .ensemble import split_names
from .provider_needs import is_configured, touched_names

if TYPE_CHECKING:
    from . import Settings


LOCAL_USER: Final = "local"
"""Identity of everybody on a server without tokens; no one with this identity is authenticated."""


class RemoteChoice(Protocol):
    """The fields of a context that are validated here."""

    provider: Any
    model: Any
    embeddings: Any
    ensemble: str | list[Any] | None
    reranker: Any
    max_cost_usd: float | None
    search_purpose: bool | None


def remote_choices(settings: Settings) -> dict[str, list[str]]:
    """Return the names that a remote caller may choose, by field: the operator's own one first."""
    providers = [name for name in touched_names(settings) if is_configured(settings, name)]
    choices: dict[str, list[str | None]] = {
        "provider": [settings.provider, "auto", settings.default_provider, *providers, "offline"],
        "model": [settings.model],
        "embeddings": [settings.embeddings, "lexical"],
        "ensemble": [*split_names(settings.ensemble), settings.embeddings],
        "reranker": [settings.reranker, "model", "none"],
    }
    return {field: [*dict.fromkeys(filter(None, names))] for field, names in choices.items()}


def restrict_remote_caller(asked: RemoteChoice, server: Any, settings: Settings) -> dict[str, Any]:
    """Return the fields that replace those of a remote caller's context.

    The tenant is that of the authenticated user of the host's `server`. The search for the
    purpose's words can only be switched off. Raises ConfigError for a provider, model or embedder
    that is not in the settings, for a ceiling of the cost above that of the settings, and for a
    user without an identity; a retry does not help.
    """
    for field, allowed in remote_choices(settings).items():
        given = getattr(asked, field)
        for name in split_names(given) if field == "ensemble" else [given]:
            if isinstance(name, str) and name not in allowed:
                other = suggest(name, allowed) or f". It has: {', '.join(allowed) or 'none'}."
                raise ConfigError(f"{field} {name!r} is not configured on this server{other}")
    refuse_higher_ceiling(asked.max_cost_usd, settings.max_cost_usd)
    limits = [limit for limit in (settings.max_cost_usd, asked.max_cost_usd) if limit is not None]
    return {
        "tenant_id": _tenant_of(server, settings),
        "run_id": None,
        "invocation_id": None,
        "max_cost_usd": min(limits, default=None),
        "search_purpose": asked.search_purpose if settings.search_purpose else False,
    }


def refuse_higher_ceiling(asked: float | None, most: float | None) -> None:
    """Raise ConfigError for a ceiling of the cost above the server's own."""
    if asked is not None and most is not None and asked > most:
        raise ConfigError(
            f"max_cost_usd {asked:g} is above this server's ceiling of {most:g}."
            " Give less, or leave it out."
        )


def user_of_server(server: Any) -> Any:
    """Return the authenticated user of the host's `server`; None where tokens are off."""
    user = getattr(server, "user", None)
    is_local = getattr(user, "is_authenticated", True) is False
    return None if is_local and getattr(user, "identity", None) == LOCAL_USER else user


def approver_of(server: Any) -> str | None:
    """Return the authenticated user's name as a decision states it."""
    user = user_of_server(server)
    return getattr(user, "user", None) or getattr(user, "identity", None)


def _tenant_of(server: Any, settings: Settings) -> str:
    """Return the user's `tenant`; where a host's own users have none, their identity is one."""
    user = user_of_server(server)
    if user is None:
        return settings.tenant
    tenant = getattr(user, "tenant", None) or getattr(user, "identity", None)
    if not isinstance(tenant, str) or not tenant:
        raise ConfigError("The authenticated user has no identity, so there is no tenant.")
    return tenant
