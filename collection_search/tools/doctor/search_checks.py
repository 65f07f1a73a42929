"""Checks of search providers."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from ...contracts.options import utc_today
from ...errors import (
    CollectionSearchError,
    ConfigError,
    CostLimitReached,
    ErrorCode,
    MissingExtraError,
    SearchProviderError,
)
from ...ports.description import describe, find_misspelt, read_info
from ...settings import registry
from ...settings.adapter_factory import access_of, class_of, make_adapter, quota_left
from ...settings.key_sources import find_key
from ...settings.provider_needs import is_configured, join_names, missing_variables
from .finding import Finding, KeyState, ListPrice, failed_finding, uncontacted
from .run_check import mark_no_extra, run_check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...contracts.health import Health
    from ...contracts.search import WebSearchResponse
    from ...ports import SearchAdapter
    from ...ports.description import SearchDescription
    from ...ports.provider_info import ProviderInfo
    from ...settings import Settings
    from .spender import SearchProbe

_PAID: Final = "a check of the key costs one search: --spend"
_UNKNOWN: Final = "one search would tell: --spend"
_NEXT_STEPS: Final[Mapping[ErrorCode, str]] = {
    "authenticationFailed": "Set {key} to the right key, or run: collection-search keys set {name}",
    "quotaExceeded": "Raise the plan, wait for its renewal, or use another provider.",
    "rateLimited": "Wait a minute and run this again.",
    "invalidQuery": "Check what the settings say of {name}.",
    "serviceUnavailable": "Check the network and {address}, and run this again.",
    "timeout": "Check the network and {address}, and run this again.",
    "unknown": "Check what the settings say of {name}.",
}
_UNREACHED: Final = {"serviceUnavailable", "timeout"}


async def check_provider(
    settings: Settings,
    name: str,
    *,
    asked: bool,
    spender: SearchProbe | None,
    limit_s: float,
    contacts: bool = True,
) -> Finding:
    """Return the state of a provider; it is contacted if it is configured or asked for."""
    finding = Finding("search", name)
    vendor_name = name.partition(":")[0]
    try:
        vendor = await to_thread.run_sync(class_of, settings, "search", vendor_name)
    except CollectionSearchError as error:
        return failed_finding(finding, str(error))
    except Exception as error:  # noqa: BLE001 - a third party's module may raise anything
        return failed_finding(finding, f"it cannot be loaded: {type(error).__name__}")
    info, prices = read_info(vendor), settings.price_list
    finding = replace(
        finding,
        price=ListPrice.of(
            prices.search_cost(vendor_name, 1),
            "a search",
            prices.price_date("search", vendor_name),
        ),
        ends_on=info.ends_on.isoformat() if info.ends_on else None,
        storage_rights=(settings.described(vendor_name) or info).storage_rights or "unknown",
    )
    causes = list(_causes(settings, name, info))
    if not causes and not asked:
        return _with_misspelt(
            await _unused(settings, _off(settings, finding, vendor), info), vendor
        )
    finding = replace(finding, configured_by=", ".join(causes) or None)
    all_s = limit_s + (spender.limit_s if spender else 0.0)
    look = _offline(settings, finding) if vendor_name == "offline" else None
    if look is None and not contacts:
        return uncontacted(finding)
    return await run_check(
        finding,
        look or _examined(settings, finding, vendor, spender=spender, limit_s=limit_s),
        limit_s=all_s + 1.0,  # the call has its own time limit
    )


def _causes(settings: Settings, name: str, info: ProviderInfo) -> Iterator[str]:
    """Yield the configuration of a provider, if it is complete."""
    if name in (settings.provider, settings.default_provider):
        yield "its name in the settings"
    if name == "offline":
        yield "default"
    if not is_configured(settings, name):  # a key of Google's may be for another service
        return
    key, access = find_key(settings, name), settings.providers.get(name)
    if key:
        yield key.where
    if access and access.base_url and not info.needs_key:
        variable = _address_variable(info, name)
        yield variable if variable in os.environ else "an address in the settings"


def _off(settings: Settings, finding: Finding, vendor: Any) -> Finding:
    """Return the finding of a provider that is not configured, with the next step."""
    name, info = finding.name, read_info(vendor)
    key = info.key_variable
    if registry.builder_of(vendor) is None:
        return replace(finding, detail="give the live object in Python")
    if not key:
        state: KeyState | None = None if key is None else "not needed"
        return replace(finding, key=state, next_step=f"Use it with: --provider {name}")
    missing = missing_variables(settings, name, info)
    if missing and key not in missing:
        step = f"Set {join_names(missing)}"
        end = f", or take another one: it ends on {finding.ends_on}" if finding.ends_on else ""
        return replace(finding, next_step=f"{step}{end}.")
    if finding.ends_on:
        return replace(finding, next_step=f"Take another one: it ends on {finding.ends_on}.")
    to_set = f"{key}, or run: collection-search keys set {name}"
    if info.without_key:
        step = f"Use it with: --provider {name}. For more searches set {to_set}"
        return replace(finding, key="not needed", detail=_keyless(info), next_step=step)
    return replace(finding, key="missing", next_step=f"Set {to_set}")


async def _unused(settings: Settings, finding: Finding, info: ProviderInfo) -> Finding:
    """Return the finding with the extra that the provider needs, if it is not installed."""
    # Only built-in adapters without a key are made: they contact nobody.
    if info.key_variable or finding.name not in registry.BUILTIN["search"]:
        return finding
    with suppress(ConfigError):
        try:
            await to_thread.run_sync(make_adapter, settings, "search", finding.name)
        except MissingExtraError as error:
            return replace(finding, next_step=mark_no_extra(finding, error).next_step)
    return finding


async def _offline(settings: Settings, finding: Finding) -> Finding:
    """Return whether this Python can search offline, and whether its index exists.

    Raises ConfigError or StoreError for added folders that cannot be read: no run could search.
    """
    try:
        is_built = settings.corpus_path.exists()
    except PermissionError:  # the check of the store tells it
        is_built = False
    detail = "its index is there, and follows the packages" if is_built else "its first use indexes"
    try:
        with closing(sqlite3.connect(":memory:")) as memory:
            memory.execute("CREATE VIRTUAL TABLE one USING fts5(text)")
    except sqlite3.Error:
        return failed_finding(
            finding,
            "the SQLite of this Python has no full-text search (FTS5)",
            "Use another build of Python, or another provider.",
        )
    adapter = await to_thread.run_sync(make_adapter, settings, "search", "offline")
    await to_thread.run_sync(adapter.count_folders)
    return replace(finding, state="ok", key="not needed", detail=detail)


async def _examined(
    settings: Settings,
    finding: Finding,
    vendor: Any,
    *,
    spender: SearchProbe | None,
    limit_s: float,
) -> Finding:
    try:
        adapter = await to_thread.run_sync(
            make_adapter, settings, "search", finding.name, abandon_on_cancel=True
        )
    except MissingExtraError as error:
        return mark_no_extra(finding, error)
    except ConfigError as error:
        off = _off(settings, finding, vendor)
        if off.key == "not needed":
            return failed_finding(finding, str(error))
        return failed_finding(finding, str(error), off.next_step, key="missing")
    described = describe(adapter)
    finding = replace(finding, state="unchecked", key=_key_state(described.info, is_valid=None))
    found = await _asked(finding, adapter, described, spender=spender, limit_s=limit_s)
    found = _with_misspelt(found, adapter)
    return await _with_own_quota(settings, found, adapter)


async def _asked(
    finding: Finding,
    adapter: SearchAdapter,
    described: SearchDescription,
    *,
    spender: SearchProbe | None,
    limit_s: float,
) -> Finding:
    """Return the result of a free call, or of the paid one."""
    info, checked = described.info, described.health_check
    try:
        if checked is not None:
            finding = _with_health(finding, await checked.acheck(timeout=limit_s), info)
    except SearchProviderError as error:
        return _refused(finding, error.code, str(error), info)
    if finding.state != "failed" and finding.key != "valid" and spender:
        return _searched(finding, await spender.search(adapter), info)
    if checked is None:
        finding = replace(finding, detail=_UNKNOWN)
    elif finding.key == "not checked":
        finding = replace(finding, detail=f"{finding.detail}; {_PAID}")
    elif info.without_key and not info.has_key:
        finding = replace(finding, detail=f"{finding.detail}; {_keyless(info)}")
    return _with_end(finding, info)


async def _with_own_quota(settings: Settings, finding: Finding, adapter: Any) -> Finding:
    """Return the finding with the quota of the settings if that is the lower one."""
    access = access_of(settings, adapter)
    if access.quota is None:
        return finding
    left = await to_thread.run_sync(quota_left, settings, adapter)
    if left is None or (finding.quota_left is not None and finding.quota_left <= left):
        return finding
    unit = f"searches of the {access.quota} that the settings allow this {access.quota_period}"
    found = replace(finding, quota_left=left, quota_unit=unit)
    if left or found.state == "failed":
        return found
    return failed_finding(found, "the quota of the settings is used up", "Raise it, or wait.")


def _key_state(info: ProviderInfo, *, is_valid: bool | None) -> KeyState | None:
    """Return the state of the key, None for a third party's adapter without that information."""
    if not info.key_variable:
        return None if info.key_variable is None else "not needed"
    if is_valid:
        return "valid"
    return "not checked" if info.has_key else "not needed" if info.without_key else None


def _keyless(info: ProviderInfo) -> str:
    return f"without a key: {info.without_key}"


def _with_health(finding: Finding, health: Health, info: ProviderInfo) -> Finding:
    found = replace(
        finding,
        state="ok" if health.has_free_call else "unchecked",
        reachable=True,
        key=_key_state(info, is_valid=health.key_valid),
        quota_left=health.quota_left,
        quota_unit=health.quota_unit,
        detail=health.detail,
    )
    if health.quota_left == 0:
        return failed_finding(found, "the quota is used up", _NEXT_STEPS["quotaExceeded"])
    return found


def _searched(finding: Finding, response: WebSearchResponse, info: ProviderInfo) -> Finding:
    """Return the finding after one search."""
    meta = response.outcome.meta
    if response.outcome.decision == "error":
        error = meta.get("error") or {}
        if error.get("kind") == CostLimitReached.__name__:  # nobody was asked
            return _with_end(replace(finding, detail=str(error.get("message"))), info)
        return _refused(finding, error.get("code", "unknown"), str(error.get("message")), info)
    left = meta.get("quota_remaining")
    found = replace(
        finding,
        state="ok",
        reachable=True,
        key="valid" if info.has_key else finding.key,
        quota_left=finding.quota_left if left is None else left,
        detail="one search was made",
    )
    return _with_end(found, info)


def _refused(finding: Finding, code: ErrorCode, message: str, info: ProviderInfo) -> Finding:
    step = _NEXT_STEPS.get(code, "").format(
        name=finding.name,
        key=info.key_variable or f"{finding.name.upper()}_API_KEY",
        address=_address_variable(info, finding.name),
    )
    return failed_finding(
        finding,
        message,
        step,
        reachable=code not in _UNREACHED,
        key="refused" if code == "authenticationFailed" else finding.key,
    )


def _with_end(finding: Finding, info: ProviderInfo) -> Finding:
    """Return the finding with the next step for an API that ends."""
    return replace(finding, next_step=info.sunset(utc_today()) or finding.next_step)


def _with_misspelt(finding: Finding, adapter: object) -> Finding:
    """Return the finding with the misspelt members of a third party's adapter."""
    if not (names := find_misspelt(adapter)):
        return finding
    said = ", ".join(f"{name} (did you mean {meant}?)" for name, meant in names.items())
    detail = "; ".join(filter(None, (finding.detail, f"its adapter has no use for {said}")))
    step = finding.next_step or "Correct the adapter."
    return replace(finding, detail=detail, next_step=step)


def _address_variable(info: ProviderInfo, name: str) -> str:
    return info.address_variable or f"{name.upper()}_BASE_URL"
