"""The description of a search adapter: the only place that reads an adapter's members."""

from __future__ import annotations

import inspect
import logging
import weakref
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from ..contracts.health import StorageRights
from ..errors import InputError
from .near_misses import find_near_misses
from .provider_info import ProviderInfo
from .search_function import KEYWORDS, SearchFunction, read_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .search import SupportsHealthCheck, SupportsPreparation, SupportsPrice

MEMBERS: Final = (
    *("provider_name", "provider", "info", "source", "answers_from", "title", "page_size"),
    *("key_variable", "address_variable", "default_base_url", "needs_key", "api_key", "ends_on"),
    *("storage_rights", "search", "asearch", "price", "acheck", "prepare", "from_settings"),
)
"""Every member that is used."""
_PACKAGE: Final = __name__.partition(".")[0]
_LOGGER = logging.getLogger(__name__)
_known: Final[dict[int, tuple[weakref.ref[object], ProviderInfo]]] = {}
"""By the adapter's `id`: adapters need be neither hashable nor different from their equals."""
_warned: Final[weakref.WeakSet[type]] = weakref.WeakSet()


@dataclass(slots=True)
class SearchDescription:
    """A search adapter with typed access to its members."""

    adapter: object
    info: ProviderInfo

    @property
    def search(self) -> SearchFunction:
        """The blocking search. Raises InputError for what is no search adapter."""
        if isinstance(self.adapter, type):
            raise InputError(f"{self.adapter.__name__} is a class: give an instance of it.")
        search = _callable(self.adapter, "search")
        name = type(self.adapter).__name__
        if search is None:
            raise InputError(
                f"{name} is no search adapter: it needs a method search(query, *, max_results)."
            )
        if inspect.iscoroutinefunction(search):
            raise InputError(
                f"{name}.search is a coroutine function: call it asearch and add a blocking search."
            )
        return SearchFunction.of(search)

    @property
    def asearch(self) -> SearchFunction | None:
        """The search that is a coroutine function; None: there is none."""
        asearch = _callable(self.adapter, "asearch")
        return SearchFunction.of(asearch) if asearch else None

    @property
    def price(self) -> SupportsPrice | None:
        """The adapter if it states the price of a search; None: one request, one unit."""
        return cast("SupportsPrice", self.adapter) if _callable(self.adapter, "price") else None

    @property
    def health_check(self) -> SupportsHealthCheck | None:
        """The adapter if it has a free check."""
        return health_check_of(self.adapter)

    @property
    def preparation(self) -> SupportsPreparation | None:
        """The adapter if it has a preparation for its first search."""
        has_any = _callable(self.adapter, "prepare")
        return cast("SupportsPreparation", self.adapter) if has_any else None


def describe(adapter: object) -> SearchDescription:
    """Return the description of the adapter.

    Its `ProviderInfo` is read once: later changes of the adapter have no effect. A member whose
    name is probably misspelt is logged, once for a class.
    """
    remembered = _known.get(id(adapter))
    if remembered is not None and remembered[0]() is adapter:
        return SearchDescription(adapter, remembered[1])
    _warn_of_misspelt(adapter)
    info = read_info(adapter)
    _remember(adapter, info)
    return SearchDescription(adapter, info)


def read_info(adapter: object) -> ProviderInfo:
    """Return the provider's data of an adapter, or of the class of one.

    It is in `info`, else in the older attributes: `provider_name` (or the legacy `provider`, which
    may be a method), `source`, `page_size` and so on.
    """
    info = getattr(adapter, "info", None)
    if not isinstance(info, ProviderInfo):
        page_size, ends_on = getattr(adapter, "page_size", None), getattr(adapter, "ends_on", None)
        info = ProviderInfo(
            name=_name_of(adapter),
            title=_text(adapter, "title") or "",
            page_size=page_size if isinstance(page_size, int) else None,
            cache_identity=_text(adapter, "answers_from") or None,
            key_variable=_text(adapter, "key_variable"),
            address_variable=_text(adapter, "address_variable"),
            default_address=_text(adapter, "default_base_url"),
            needs_key=getattr(adapter, "needs_key", False) is True,
            has_key=getattr(adapter, "api_key", None) is not None,
            ends_on=ends_on if isinstance(ends_on, date) else None,
            storage_rights=_storage_rights(adapter),
        )
    source = info.source if info.source is not None else _text(adapter, "source")
    return replace(info, source=source, cache_identity=info.cache_identity or source)


def give_source(adapter: Any, source: str) -> bool:
    """Set `source` on an adapter without one; return whether it has one now."""
    if describe(adapter).info.source is not None or hasattr(adapter, "source"):
        return True
    try:
        adapter.source = source
    except (AttributeError, TypeError):
        return False
    _known.pop(id(adapter), None)
    return True


def health_check_of(part: object) -> SupportsHealthCheck | None:
    """Return the part itself if it has a free check."""
    return cast("SupportsHealthCheck", part) if _callable(part, "acheck") else None


def is_runnable(given: object) -> bool:
    """Return whether it is a LangChain tool or retriever and no search adapter."""
    return _callable(given, "ainvoke") is not None and not hasattr(given, "search")


def find_misspelt(adapter: object) -> dict[str, str]:
    """Return probably misspelt members and keywords of an adapter or class, with the right ones.

    Members of our own classes are not checked.
    """
    owners = [adapter] if isinstance(adapter, type) else [adapter, type(adapter)]
    named = {name for owner in owners for name in _own_names(owner) if not name.startswith("_")}
    functions = filter(None, (_callable(adapter, name) for name in ("search", "asearch")))
    found = find_near_misses(named, MEMBERS)
    for function in functions:
        found |= find_near_misses(read_parameters(function) or (), KEYWORDS, has_forms=False)
    return found


def _own_names(owner: object) -> Iterator[str]:
    for each in owner.__mro__[:-1] if isinstance(owner, type) else (owner,):
        if not (isinstance(each, type) and _is_ours(each)):
            yield from getattr(each, "__dict__", ())


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == _PACKAGE


def _warn_of_misspelt(adapter: object) -> None:
    cls = type(adapter)
    if _is_ours(cls) or cls in _warned:
        return
    _warned.add(cls)
    for name, meant in find_misspelt(adapter).items():
        _LOGGER.warning(
            "%s.%s is nothing that a search adapter has and is not used; did you mean %s?",
            cls.__name__,
            name,
            meant,
        )


def _remember(adapter: object, info: ProviderInfo) -> None:
    key = id(adapter)

    def forget(gone: weakref.ref[object]) -> None:
        if (remembered := _known.get(key)) is not None and remembered[0] is gone:
            del _known[key]

    try:
        _known[key] = weakref.ref(adapter, forget), info
    except TypeError:  # its class has slots and none for references: it is read anew each time
        return


def _name_of(adapter: object) -> str:
    for attribute in ("provider_name", "provider"):
        name = getattr(adapter, attribute, None)
        if callable(name) and not isinstance(adapter, type):
            name = name()
        if isinstance(name, str) and name.strip():
            return name.strip()
    return (adapter if isinstance(adapter, type) else type(adapter)).__name__


def _storage_rights(adapter: object) -> StorageRights | None:
    """Return the adapter's storage rights; an invalid value counts as `unknown`."""
    if not hasattr(adapter, "storage_rights"):
        return None
    rights = getattr(adapter, "storage_rights", None)
    return rights if rights in get_args(StorageRights) else "unknown"


def _text(adapter: object, attribute: str) -> str | None:
    value = getattr(adapter, attribute, None)
    return value if isinstance(value, str) else None


def _callable(owner: object, name: str) -> Callable[..., Any] | None:
    member = getattr(owner, name, None)
    return member if callable(member) else None
