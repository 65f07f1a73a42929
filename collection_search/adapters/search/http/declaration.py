"""The `ProviderInfo` of a vendor's class."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from ....ports.near_misses import find_near_misses
from ....ports.provider_info import ProviderInfo
from ....text.known_secrets import key_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from pydantic import SecretStr

    from ....contracts.health import StorageRights


_REQUIRED: Final = ("provider_name", "title", "address_variable", "page_size")


class _Info:
    """A property of class and adapter; of an adapter it includes address and key."""

    def __get__(
        self, adapter: DeclaredProvider | None, owner: type[DeclaredProvider]
    ) -> ProviderInfo:
        declared: DeclaredProvider | type[DeclaredProvider] = owner if adapter is None else adapter
        return ProviderInfo(
            name=declared.provider_name,
            title=declared.title,
            source=None if adapter is None else adapter.source,
            cache_identity=None if adapter is None else adapter.answers_from,
            index=declared.index,
            page_size=declared.page_size,
            key_variable=declared.key_variable,
            address_variable=declared.address_variable,
            default_address=declared.default_base_url,
            needs_key=declared.needs_key,
            without_key=declared.without_key,
            has_key=adapter is not None and adapter.api_key is not None,
            rate_per_s=declared.rate_per_s,
            ends_on=declared.ends_on,
            storage_rights=declared.storage_rights,
        )


class DeclaredProvider:
    """The public data of one vendor."""

    provider_name: str
    title: str
    """The vendor's name for people."""
    index: str | None = None
    """The index that is searched; None where it searches several, or those of others."""
    key_variable: str = ""
    address_variable: str
    needs_key: ClassVar[bool] = False
    without_key: ClassVar[str] = ""
    """What works without an optional key, in words for people; blank where that is not known."""
    default_base_url: ClassVar[str] = ""
    """Scheme, host and prefix, to which the documented path is appended. Blank: it must be set."""

    page_size: int
    """Rows that one billed request gives."""
    ends_on: ClassVar[date | None] = None
    """The day from which the vendor no longer offers this API, as announced."""
    rate_per_s: ClassVar[float | None] = None
    """Requests in a second that the terms allow, None where they name no number."""
    storage_rights: StorageRights = "unknown"

    info: ClassVar[_Info] = _Info()
    """The data for `describe`."""

    api_key: SecretStr | None
    base_url: str
    today: Callable[[], date]

    def __init_subclass__(cls) -> None:
        """Raise TypeError for a vendor whose data is incomplete, with the names that are near."""
        super().__init_subclass__()
        missing = [name for name in _REQUIRED if not hasattr(cls, name)]
        if not missing or missing[0] == _REQUIRED[0]:  # a base class names no provider
            return
        near = find_near_misses(vars(cls), missing)
        hints = "".join(f" {name} is not {meant}." for name, meant in near.items())
        raise TypeError(f"{cls.__name__} needs the attributes {', '.join(missing)}.{hints}")

    @property
    def source(self) -> str:
        """Provider, address and a hash of the key, which identify its limits."""
        return f"{self.provider_name}@{self.base_url}#{key_id(self.key())}"

    @property
    def answers_from(self) -> str:
        """The source with all else on which answers depend: it identifies cached ones."""
        return self.source

    def key(self) -> str:
        """Return the key as it is sent, blank where there is none."""
        return self.api_key.get_secret_value() if self.api_key else ""

    def sunset(self) -> str | None:
        """Return the notice about the end of the API, None where no end is known."""
        return self.info.sunset(self.today()) if self.ends_on else None
