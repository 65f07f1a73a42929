"""Who the caller is, and what a run may choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request

from ... import __version__
from ...contracts.inputs import SearchInput
from ...contracts.options import utc_today
from ...errors import ConfigError
from ...ports.description import read_info
from ...runtime.concurrency import offload
from ...settings.adapter_factory import class_of, search_providers
from ...settings.provider_choice import choose_provider
from ...settings.provider_needs import is_configured, join_names, missing_variables
from ...settings.registry import UNNAMED
from ..access import Viewer, is_operator
from ..places import HiddenPlaces  # noqa: TC001 - FastAPI reads it
from ..runs.current import Runs  # noqa: TC001

if TYPE_CHECKING:
    from ...settings import Settings

router = APIRouter(tags=["options"])

_TITLES: Final = {
    "k_generate_strategy": "Strategy Generation",
    "k_parallel_web_search": "Web Search",
    "k_embedding_rank": "Embedding Rank",
    "k_premium_rank": "Premium Rank",
    "k_check_criteria": "Criteria",
    "k_auto_ingest": "Auto-Ingest",
    "k_hitl_gate": "Review",
    "k_trigger_ingestion": "Ingestion",
    "k_verify_coverage": "Coverage",
}
"""Stages that a person sees, by node."""
_DEFAULTS: Final = (
    *("quality_mode", "max_candidates", "auto_ingest_min_score", "auto_ingest_top_k", "purpose"),
)


@router.get("/me")
async def me(request: Request, caller: Viewer) -> dict[str, Any]:
    """Return the caller."""
    settings: Settings = request.app.state.context.using()
    return {
        "tenant": caller.tenant,
        "user": caller.user,
        "role": caller.role.name,
        "operator": is_operator(caller, settings),
        "auth": settings.server_auth,
        "version": __version__,
    }


@router.get("/options")
async def options(caller: Viewer, runs: Runs, places: HiddenPlaces) -> dict[str, Any]:
    """Return the providers, defaults and stages of runs, and the caller's collections."""
    context = await runs.context_of(caller.tenant)
    settings, store = context.using(), await context.storage()
    chosen = await choose_provider(settings)
    providers = await offload(_list_providers, settings, chosen.name)
    infos = await offload(store.collections.collections, caller.tenant)
    fields = SearchInput.model_fields
    defaults = {name: fields[name].default for name in _DEFAULTS}
    show = places.hide_in_settings
    provider = show({"provider": chosen.name, "provider_reason": chosen.reason})
    return {
        "providers": show(providers),
        "quality_modes": ["standard", "premium"],
        "defaults": {**provider, **defaults},
        "collections": [info.collection for info in infos],
        "stages": {name: _stages(nodes) for name, nodes in runs.nodes().items()},
        "max_cost_usd": context.max_cost_usd,
        "model": show(settings.model),
        "embeddings": show(settings.embeddings),
    }


def _stages(nodes: list[str]) -> list[dict[str, str]]:
    return [{"node": node, "title": _TITLES[node]} for node in nodes if node in _TITLES]


def _list_providers(settings: Settings, default: str) -> list[dict[str, Any]]:
    """Return the providers, the usable ones first. Blocks: their modules are loaded."""
    names = [name for name in search_providers(settings) if name not in UNNAMED]
    found = [_provider(settings, name, default) for name in names]
    return sorted(found, key=lambda one: (not one["is_default"], not one["configured"]))


def _provider(settings: Settings, name: str, default: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": name, "title": name, "is_default": name == default}
    try:
        info = read_info(class_of(settings, "search", name))
    except (ConfigError, ImportError) as error:
        told = f"It cannot be loaded: {type(error).__name__}"
        return {**shown, "configured": False, "note": told}
    is_usable = name in {"offline", settings.provider, settings.default_provider}
    is_usable = is_usable or is_configured(settings, name)
    notes = [info.sunset(utc_today()) or "", info.without_key]
    if not is_usable:
        missing = missing_variables(settings, name, info)
        notes.append(f"Set {join_names(missing)}." if missing else f"Set {name} as provider.")
    note = " ".join(filter(None, notes))
    return {**shown, "title": info.title or name, "configured": is_usable, "note": note}
