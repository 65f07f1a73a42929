"""Tries a key by a call of whatever uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...settings.adapter_factory import search_providers
from ...settings.ensemble import split_names
from .checks import check_embedder, check_model, check_tracing
from .diagnosis import LIMIT_S
from .finding import Finding
from .search_checks import check_provider

if TYPE_CHECKING:
    from ...settings import Settings

_UNUSED = "no model and no embedder of the settings takes this key"


async def check_key(settings: Settings, name: str, *, limit_s: float = LIMIT_S) -> Finding:
    """Return the state of the provider, model, embedder or tracing that takes the key.

    Nothing is spent. `name` is one of `settings.key_sources.key_names`.
    """
    if name in search_providers(settings):
        return await check_provider(settings, name, asked=True, spender=None, limit_s=limit_s)
    if name == "langfuse":
        return await check_tracing(settings, limit_s=limit_s)
    if name == "openai" and (settings.model or "").startswith("openai:"):
        return await check_model(settings, limit_s=limit_s)
    for each in (settings.embeddings, *split_names(settings.ensemble)):
        if each.startswith("openai:"):
            beside = None if each == settings.embeddings else each
            return await check_embedder(settings, limit_s=limit_s, beside=beside)
    return Finding("model", name, "unchecked", detail=_UNUSED)
