"""The doctor's data: what was found out about one part, as facts and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...contracts.health import StorageRights

Component = Literal["search", "model", "embedder", "store", "tracing"]
State = Literal["ok", "failed", "unchecked", "off"]
"""`unchecked`: only what is paid for would tell. `off`: not configured, and not contacted."""
KeyState = Literal["valid", "refused", "not checked", "not needed", "missing"]

_STORAGE: Final[Mapping[StorageRights, str]] = {
    "unknown": "storage rights unknown",
    "allowed": "storing allowed",
    "by plan": "storing in some plans only",
}


@dataclass(frozen=True, slots=True)
class ListPrice:
    """A list price in US dollars, and the day on which it was read."""

    usd: float
    per: str
    seen: str | None
    output_usd: float | None = None
    """Of what a model writes, where that has a price of its own."""

    def __str__(self) -> str:
        if not self.usd and not self.output_usd:
            return "free"
        output = "" if self.output_usd is None else f" and ${self.output_usd:g}"
        return f"${self.usd:g}{output} {self.per} ({self.seen})"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part. None stands for what is not known or does not apply."""

    part: Component
    name: str
    state: State = "off"
    configured_by: str | None = None
    """What configures it: variables, the settings, the keyring."""
    reachable: bool | None = None
    key: KeyState | None = None
    quota_left: int | None = None
    quota_unit: str = "searches"
    price: ListPrice | None = None
    ends_on: str | None = None
    """ISO day from which the vendor no longer offers it."""
    storage_rights: StorageRights | None = None
    detail: str = ""
    next_step: str = ""
    chosen: bool = False
    """Whether a run would search with it."""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON-plain values."""
        return asdict(self)

    def facts(self) -> list[str]:
        """Return what is known, each in a few words, in a fixed order."""
        return list(filter(None, self._facts()))

    def _facts(self) -> Iterator[str | None]:
        yield "a run takes it" if self.chosen else None
        yield f"configured by {self.configured_by}" if self.configured_by else None
        yield {True: "reachable", False: "out of reach", None: None}[self.reachable]
        yield f"key {self.key}".replace("key not needed", "no key needed") if self.key else None
        yield None if self.quota_left is None else f"{self.quota_left} {self.quota_unit} left"
        if self.price or self.part == "search":
            yield str(self.price or "price unknown")
        yield f"ends on {self.ends_on}" if self.ends_on else None
        yield _STORAGE[self.storage_rights] if self.storage_rights else None
        yield self.detail or None


def failed_finding(finding: Finding, detail: str, next_step: str = "", **changes: Any) -> Finding:
    """Return the finding of a part that does not work."""
    return replace(finding, state="failed", detail=detail, next_step=next_step, **changes)
