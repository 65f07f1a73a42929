"""Queries within providers' limits, and parameters that several providers share."""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from ....errors import SearchProviderInvalidQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....contracts.options import Applied, OptionName, SearchOptions

AMERICAN_DAY: Final = "{0.month:02}/{0.day:02}/{0.year:04}"
"""How a day is written in the United States."""
DOMAINS: Final[tuple[OptionName, OptionName]] = ("include_domains", "exclude_domains")


def fit_query(
    query: str,
    options: SearchOptions,
    applied: dict[OptionName, Applied],
    *,
    title: str,
    chars: int | None = None,
    words: int | None = None,
) -> tuple[str, list[str]]:
    """Return the query with operators for its domains, cut to these limits, and notices of a cut.

    Operators that are longer than half of the limit are left out, and their options removed from
    `applied`: the worker's filter remains. Raises SearchProviderInvalidQuery for a blank query.
    """
    whole = " ".join(query.split())
    if not whole:
        raise SearchProviderInvalidQuery(f"The query for {title} holds no word.")
    sites = site_operators(
        options,
        include=applied.get("include_domains") == "emulated",
        exclude=applied.get("exclude_domains") == "emulated",
    )
    if len(sites) * 2 > (chars or math.inf) or len(sites.split()) * 2 > (words or math.inf):
        applied.pop("include_domains", None)
        applied.pop("exclude_domains", None)
        sites = ""
    asked = cut_query(
        whole,
        chars=chars and chars - len(sites) - bool(sites),
        words=words and words - len(sites.split()),
    )
    full = f"{asked} {sites}" if sites else asked
    cut = f"The query was cut to {len(asked)} characters, as {title} takes no more."
    return full, [] if asked == whole else [cut]


def cut_query(query: str, *, chars: int | None = None, words: int | None = None) -> str:
    """Return the beginning of the query, at most that long; it ends with a whole word.

    A single word that is too long is cut.

    >>> cut_query("how to cancel an asyncio task", chars=18)
    'how to cancel an'
    >>> cut_query("how to cancel an asyncio task", words=3), cut_query("x" * 9, chars=4)
    ('how to cancel', 'xxxx')
    """
    kept = " ".join(query.split()[:words])
    if chars is None or len(kept) <= chars:
        return kept
    border = kept.rfind(" ", 0, chars + 1)
    return kept[: chars if border < 1 else border]


def shift_day(day: date, days: int) -> date:
    """Return the day so many days later, or earlier, the first or last one of the calendar at most.

    >>> shift_day(date(2026, 3, 1), -1), shift_day(date.max, 1) == date.max
    (datetime.date(2026, 2, 28), True)
    """
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))


def site_operators(options: SearchOptions, *, include: bool, exclude: bool) -> str:
    """Return the `site:` operators for the domains, blank without any.

    >>> from collection_search.contracts.options import SearchOptions
    >>> options = SearchOptions(include_domains=("a.org", "b.org"), exclude_domains=("c.org",))
    >>> site_operators(options, include=True, exclude=True)
    '(site:a.org OR site:b.org) -site:c.org'
    """
    sites = [f"site:{domain}" for domain in options.include_domains if include]
    wanted = f"({' OR '.join(sites)})" if len(sites) > 1 else "".join(sites)
    unwanted = [f"-site:{domain}" for domain in options.exclude_domains if exclude]
    return " ".join(filter(None, [wanted, *unwanted]))


def supported_options(
    *native: OptionName, emulated: Sequence[OptionName] = ()
) -> dict[OptionName, Applied]:
    """Return the table of the options that an API has, besides `max_results`, or that are emulated.

    >>> supported_options("language", emulated=["topic"])
    {'max_results': 'native', 'language': 'native', 'topic': 'emulated'}
    """
    names: Sequence[OptionName] = ("max_results", *native)
    by_api: dict[OptionName, Applied] = dict.fromkeys(names, "native")
    otherwise: dict[OptionName, Applied] = dict.fromkeys(emulated, "emulated")
    return by_api | otherwise


def drop_empty(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that have a value.

    >>> drop_empty({"country": None, "language": "de"})
    {'language': 'de'}
    """
    return {name: value for name, value in parameters.items() if value}


def date_parameters(
    options: SearchOptions, today: date, *, word: str = "", **forms: str
) -> dict[str, str]:
    """Return the parameters for `freshness`: first and last day, each in the form given for it.

    With `word`, a word such as `week` is sent as it is, under that name.

    >>> from collection_search.contracts.options import SearchOptions
    >>> options = SearchOptions(freshness="2026-01-01..")
    >>> date_parameters(options, date(2026, 3, 1), since="{}", until="{}")
    {'since': '2026-01-01'}
    """
    if word and options.freshness and ".." not in options.freshness:
        return {word: options.freshness}
    days = zip(forms.items(), options.published(today), strict=True)
    return {name: form.format(day) for (name, form), day in days if day}


def google_parameters(
    options: SearchOptions, today: date, languages: Mapping[str, str]
) -> dict[str, str]:
    """Return the parameters of Google's result pages for freshness, language and country.

    `languages` are the values of `lr` by code. An open range of days ends today.

    >>> from collection_search.contracts.options import SearchOptions
    >>> day = date(2026, 3, 1)
    >>> options = SearchOptions(freshness="week", country="DE", language="de")
    >>> google_parameters(options, day, {"de": "lang_de"})
    {'tbs': 'qdr:w', 'lr': 'lang_de', 'hl': 'de', 'gl': 'de'}
    >>> google_parameters(SearchOptions(freshness="2026-01-31.."), day, {})
    {'tbs': 'cdr:1,cd_min:01/31/2026,cd_max:03/01/2026'}
    """
    written = languages[options.language] if options.language else ""
    chosen = {
        "tbs": _google_days(options, today),
        "lr": written,
        "hl": written.removeprefix("lang_").lower(),
        "gl": options.country and options.country.lower(),
    }
    return drop_empty(chosen)


def _google_days(options: SearchOptions, today: date) -> str:
    fresh = options.freshness or ""
    first, last = options.published(today)
    if first is None or ".." not in fresh:
        return f"qdr:{fresh[0]}" if fresh else ""
    return f"cdr:1,cd_min:{AMERICAN_DAY.format(first)},cd_max:{AMERICAN_DAY.format(last or today)}"
