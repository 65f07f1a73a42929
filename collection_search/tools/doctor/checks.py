"""Checks of model, embedder, store, queue, tracing, browser and parsers."""

from __future__ import annotations

import os
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from ...contracts.ingestion import Priority
from ...errors import ModelError
from ...ports.description import health_check_of
from ...ranking.calibration import known_scale
from ...runtime.concurrency import offload, offload_apart
from ...runtime.disk_room import has_room
from ...settings import PREFIX
from ...settings.adapter_factory import adapter_of, is_traced
from ...settings.key_sources import find_key
from ...settings.page_parsers import load_parser
from ...settings.registry import load_adapter
from .finding import Finding, KeyState, ListPrice, failed_finding, uncontacted
from .run_check import run_check

if TYPE_CHECKING:
    from ...settings import Settings
    from ...settings.registry import Group

_MILLION: Final = 1_000_000
_REFUSED: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_OUT_OF_REACH: Final = {"timeout", "unreachable"}
_TRACING_KEYS: Final = "Set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY."


async def check_model(settings: Settings, *, limit_s: float, contacts: bool = True) -> Finding:
    """Return the state of the model that plans queries."""
    if settings.model is None:
        return Finding(
            "model",
            "none",
            detail="queries are planned by rules",
            next_step=f"Set {PREFIX}MODEL, for example to openai:gpt-4o-mini.",
        )
    prices = settings.price_list
    reading, writing = (
        prices.chat_cost(settings.model, *counts) for counts in ((_MILLION, 0), (0, _MILLION))
    )
    per = "per million tokens read and written"
    price = ListPrice.of(reading, per, prices.price_date("chat", settings.model), writing)
    causes = [where_set(settings, "model"), *_key_of(settings, settings.model, ("openai",))]
    finding = Finding("model", settings.model, configured_by=", ".join(causes), price=price)
    if not contacts:
        return uncontacted(finding)
    check = _examined(settings, finding, "models", limit_s)
    return await run_check(finding, check, limit_s=2 * limit_s)


async def check_embedder(
    settings: Settings, *, limit_s: float, beside: str | None = None, contacts: bool = True
) -> Finding:
    """Return the state of the embedder, or of the one that the ensemble has `beside` it."""
    name, field = (beside, "ensemble") if beside else (settings.embeddings, "embeddings")
    prices = settings.price_list
    cost, seen = prices.embedding_cost(name, _MILLION), prices.price_date("embedding", name)
    price = ListPrice.of(cost, "per million tokens", seen)
    if name == "lexical":
        detail = "similarity by words, computed in this process"
        return Finding(
            "embedder", name, "ok", where_set(settings, field), price=price, detail=detail
        )
    own = ("embeddings",) if settings.embeddings_base_url else ("embeddings", "openai")
    causes = [where_set(settings, field), *_key_of(settings, name, own)]
    finding = Finding("embedder", name, configured_by=", ".join(causes), price=price)
    if not contacts:
        return uncontacted(finding)
    check = _examined_embedder(settings, finding, limit_s)
    return await run_check(finding, check, limit_s=2 * limit_s)


async def check_store(settings: Settings, *, tenant: str, limit_s: float) -> Finding:
    """Return whether the database can be opened, and the number of the tenant's collections.

    The files of runs, spending and checkpoints are a part of it.
    """
    cause = "home" if settings.database_url is None else "database_url"
    finding = Finding("store", settings.engine, configured_by=where_set(settings, cause))
    if settings.database_url is not None:
        limit_s *= 3  # a server may be about to start, and tables to be made
    return await run_check(finding, _opened(settings, finding, tenant, limit_s), limit_s=limit_s)


async def check_queue(settings: Settings, *, limit_s: float, contacts: bool = True) -> Finding:
    """Return whether the message broker answers and has its queues, which are declared if not."""
    finding = Finding("queue", "celery", configured_by=where_set(settings, "ingest_engine"))
    if not contacts:
        return uncontacted(finding)
    return await run_check(finding, _counted(settings, finding), limit_s=3 * limit_s)


async def check_tracing(settings: Settings, *, limit_s: float, contacts: bool = True) -> Finding:
    """Return whether Langfuse takes both keys."""
    key, finding = find_key(settings, "langfuse"), Finding("tracing", "langfuse")
    if not settings.langfuse_tracing:
        return replace(finding, detail="switched off", next_step=f"Set {PREFIX}LANGFUSE_TRACING.")
    if not key and not settings.langfuse_public_key:
        return replace(finding, next_step=_TRACING_KEYS)
    finding = replace(finding, configured_by=key.where if key else "LANGFUSE_PUBLIC_KEY")
    if not is_traced(settings):
        return failed_finding(
            finding, "one of its two keys is missing", _TRACING_KEYS, key="missing"
        )
    if not contacts:
        return uncontacted(finding)
    return await run_check(finding, _traced(settings, finding, limit_s), limit_s=2 * limit_s)


async def check_browser(settings: Settings, *, limit_s: float) -> Finding:
    """Return whether the browser for pages that scripts write can be started."""
    finding = Finding("browser", "chromium", configured_by=where_set(settings, "fetch_browser"))
    return await run_check(finding, _started(settings, finding), limit_s=limit_s)


async def check_parser(
    settings: Settings, kind: str, *, limit_s: float, contacts: bool = True
) -> Finding:
    """Return whether the function that reads this kind of page can be loaded."""
    finding = Finding("parser", kind, configured_by=where_set(settings, "parsers"))
    if not contacts:
        return uncontacted(finding)
    return await run_check(finding, _loaded(settings, finding), limit_s=limit_s)


async def _loaded(settings: Settings, finding: Finding) -> Finding:
    parser = await offload_apart(load_parser, settings, finding.name)
    return replace(finding, state="ok", detail=f"{parser.name} {parser.place}")


async def _started(settings: Settings, finding: Finding) -> Finding:
    reader = await adapter_of(settings, "readers", "web")
    return replace(finding, state="ok", detail=await reader.browser_version())


async def _examined(settings: Settings, finding: Finding, group: Group, limit_s: float) -> Finding:
    """Return the result of the adapter's own free check, or that it has none."""
    adapter = await adapter_of(settings, group, finding.name)
    if (checked := health_check_of(adapter)) is None:
        if finding.name.startswith("local:"):
            detail = "computed on this machine"
            return replace(finding, state="ok", key="not needed", detail=detail)
        return replace(finding, state="unchecked", key="not checked", detail="any call is paid for")
    try:
        health = await checked.acheck(timeout=limit_s)
    except ModelError as error:
        return _refused(finding, error)
    key: KeyState = "valid" if health.key_valid else "not checked"
    step = ""
    if health.is_listed is False:
        vendor = finding.name.partition(":")[0]
        variable = f"{PREFIX}{'MODEL' if group == 'models' else 'EMBEDDINGS'}"
        step = f"Check {variable}: write {vendor}:NAME with a name that the endpoint lists."
    return replace(
        finding, state="ok", reachable=True, key=key, detail=health.detail, next_step=step
    )


async def _examined_embedder(settings: Settings, finding: Finding, limit_s: float) -> Finding:
    """Return the result of the check, with the languages that the model is known to tell apart."""
    found = await _examined(settings, finding, "embeddings", limit_s)
    embedder = await adapter_of(settings, "embeddings", finding.name)
    scale = await known_scale(embedder.fingerprint, folder=settings.home)
    if scale is None or not scale.is_complete:
        return found
    return replace(found, detail=f"{found.detail}; {scale.described()}")


def _refused(finding: Finding, error: ModelError) -> Finding:
    """Return the finding of a failed call of a model's endpoint."""
    cause = error.__cause__
    if getattr(cause, "status_code", None) in _REFUSED:
        step = "Set the right key, or run: collection-search keys set openai"
        return failed_finding(finding, str(error), step, key="refused", reachable=True)
    is_out_of_reach = getattr(cause, "kind", "") in _OUT_OF_REACH
    step = "Check the network and the address, and run this again." if is_out_of_reach else ""
    return failed_finding(finding, str(error), step, reachable=not is_out_of_reach)


async def _counted(settings: Settings, finding: Finding) -> Finding:
    settings.require_shared_engines()
    queue = await adapter_of(settings, "queues", finding.name)
    waiting = [await offload(queue.depth, priority) for priority in Priority]
    told = f"its queues are declared, and {sum(waiting)} messages wait"
    return replace(finding, state="ok", reachable=True, detail=told)


async def _opened(settings: Settings, finding: Finding, tenant: str, limit_s: float) -> Finding:
    await offload(settings.prepared_home)
    store = await adapter_of(settings, "stores", settings.engine)
    count = len(await offload(store.collections.collections, tenant))
    detail = f"{store.name}, {count} collection{'s' * (count != 1)} of {tenant}"
    if settings.database_url is None and not await offload(has_room, settings.home):
        step = "Free space there: until then nothing is stored, and what is stored stays whole."
        return failed_finding(finding, f"{detail}; its disk is full", step, reachable=True)
    if (checked := health_check_of(store)) is not None:
        health = await checked.acheck(timeout=limit_s)
        detail = "; ".join(filter(None, (detail, health.detail)))
        finding = replace(finding, next_step=health.advice)
    return replace(finding, state="ok", reachable=True, detail=detail)


async def _traced(settings: Settings, finding: Finding, limit_s: float) -> Finding:
    sink = await offload(load_adapter, "tracing", "langfuse")
    health = await sink.acheck(settings, timeout=limit_s)
    return replace(finding, state="ok", reachable=True, key="valid", detail=health.detail)


def where_set(settings: Settings, field: str) -> str:
    """Return the source of a setting other than a key."""
    variable = f"{PREFIX}{field.upper()}"
    if os.environ.get(variable):
        return variable
    return "the settings" if field in settings.model_fields_set else "default"


def _key_of(settings: Settings, name: str, holders: tuple[str, ...]) -> list[str]:
    """Return the source of the key of an OpenAI-compatible endpoint, if there is one."""
    if not name.startswith("openai:"):
        return []
    return [key.where for one in holders if (key := find_key(settings, one))][:1]
