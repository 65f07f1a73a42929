"""Applies a search's options to the provider's answer, and reports how each was applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...contracts.options import Applied, OptionName, SearchOptions, in_domains
from ...text.timestamps import utc_day
from ...text.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from ...contracts.search import SearchResult


def filter_results(
    results: Sequence[SearchResult], options: SearchOptions, *, today: date
) -> list[SearchResult]:
    """Return the results that the options allow, those of preferred domains first.

    Domains are compared exactly. A result without a date is never too old or too new.
    """
    kept = [
        result
        for result in results
        if _is_allowed(host_of(result.url), options) and _is_fresh(result, options, today)
    ]
    if options.include_domains and not options.restricts:
        kept.sort(key=lambda result: not in_domains(host_of(result.url), options.include_domains))
    return kept


def applied_options(
    options: SearchOptions,
    applied: Mapping[str, Applied],
    results: Sequence[SearchResult],
    *,
    counts: bool,
) -> dict[str, dict[str, Any]]:
    """Return for each option that was asked for its value and how it was applied.

    A default value is `native`. `domain_mode` is applied as its domains are. `applied` is the
    provider's part; `counts` says whether it takes a number of results.
    """
    here: dict[OptionName, Applied] = {
        "max_results": "native" if counts else "post_filtered",
        "include_domains": "post_filtered" if options.restricts else "emulated",
        "exclude_domains": "post_filtered",
    }
    if any(utc_day(result.published_date) for result in results):
        here["freshness"] = "post_filtered"
    if any(result.content for result in results):
        here["include_content"] = "native"
    told: dict[str, dict[str, Any]] = {
        name: {"requested": value, "applied": applied.get(name) or here.get(name, "unsupported")}
        for name, value in options.asked().items()
    }
    if "domain_mode" in options.model_fields_set:
        domains = told.get("include_domains", {"applied": "native"})
        told["domain_mode"] = {**domains, "requested": options.domain_mode}
    idle = options.idle().items()
    return told | {name: {"requested": value, "applied": "native"} for name, value in idle}


def _is_allowed(host: str, options: SearchOptions) -> bool:
    if in_domains(host, options.exclude_domains):
        return False
    return not options.restricts or in_domains(host, options.include_domains)


def _is_fresh(result: SearchResult, options: SearchOptions, today: date) -> bool:
    first, last = options.published(today)
    if (day := utc_day(result.published_date)) is None:
        return True
    return (first is None or day >= first) and (last is None or day <= last)
