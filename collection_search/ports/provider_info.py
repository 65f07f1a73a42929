"""The data of a search adapter's provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from ..contracts.health import StorageRights


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """One search provider. An adapter offers it as `info`, on its class, on itself or on both.

    None means that the adapter does not state the value. No field contains a secret.
    """

    name: str
    """The provider's name in results, costs and settings."""
    title: str = ""
    """The provider's name for people."""
    source: str | None = None
    """The identity of provider, address and key, without showing the key. Rate, quota, breaker,
    fallback and cached answers need it."""
    cache_identity: str | None = None
    """The identity for cached answers, if they depend on more; by default `source`."""
    index: str | None = None
    """The index that is searched, such as `Google`; None: several, or not stated. Providers with
    an equal one find the same pages."""
    page_size: int | None = None
    """Rows of one billed request."""
    key_variable: str | None = None
    """The environment variable that gives the key; blank: no key is needed."""
    address_variable: str | None = None
    """The environment variable that gives the address."""
    default_address: str | None = None
    """The address that is used where none is given; blank: one must be given."""
    needs_key: bool = False
    """Whether nothing works without a key."""
    without_key: str = ""
    """What works without an optional key, in words for people; blank: not stated."""
    has_key: bool = False
    """Whether this adapter was given a key."""
    rate_per_s: float | None = None
    """The requests in a second that its terms allow; the settings of the provider come first."""
    ends_on: date | None = None
    """The day from which the provider no longer offers this API, as announced."""
    storage_rights: StorageRights | None = None
    """Whether texts that the provider delivers may be stored; None leaves it to the caller."""

    def sunset(self, today: date) -> str | None:
        """Return the notice about the end of the API, None where no end is known.

        >>> from datetime import date
        >>> ProviderInfo(name="a", title="A", ends_on=date(2027, 1, 1)).sunset(date(2026, 1, 1))
        'A ends on 2027-01-01: plan for another provider.'
        """
        if self.ends_on is None:
            return None
        name = self.title or self.name
        if today >= self.ends_on:
            return f"{name} was to end on {self.ends_on}: use another provider."
        return f"{name} ends on {self.ends_on}: plan for another provider."
