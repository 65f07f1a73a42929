"""The result of a check of one part, as facts and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from ...contracts.health import StorageRights

Component = Literal[
    "search", "model", "embedder", "store", "tracing", "queue", "function", "browser", "parser"
]
State = Literal["ok", "failed", "unchecked", "off"]
"""`unchecked`: only a paid call would tell. `off`: not configured, and not contacted."""
KeyState = Literal["valid", "refused", "not checked", "not needed", "missing"]

_STORAGE: Final[Mapping[StorageRights, str]] = {
    "unknown": "storage rights unknown",
    "allowed": "storing allowed",
    "by plan": "storing in some plans only",
}


@dataclass(frozen=True, slots=True)
class ListPrice:
    """A price in US dollars, and the day on which it was read."""

    usd: float
    per: str
    seen: str | None
    """ISO date; None for a user's own price."""
    output_usd: float | None = None
    """Price of a model's output, where it differs."""

    @classmethod
    def of(
        cls,
        usd: float | None,
        per: str,
        seen: date | None,
        output_usd: float | None = None,
    ) -> ListPrice | None:
        """Return the price with its date, None where it is not known."""
        if usd is None:
            return None
        return cls(usd, per, seen.isoformat() if seen else None, output_usd)

    def __str__(self) -> str:
        if not self.usd and not self.output_usd:
            return "free"
        output = "" if self.output_usd is None else f" and ${self.output_usd:g}"
        return f"${self.usd:g}{output} {self.per} ({self.seen or 'your own price'})"


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one part. None: not known, or does not apply."""

    part: Component
    name: str
    state: State = "off"
    configured_by: str | None = None
    """Its configuration: variables, the settings, the keyring."""
    reachable: bool | None = None
    key: KeyState | None = None
    quota_left: int | None = None
    quota_unit: str = "searches"
    price: ListPrice | None = None
    ends_on: str | None = None
    """ISO date of the end of the vendor's offer."""
    storage_rights: StorageRights | None = None
    detail: str = ""
    next_step: str = ""
    chosen: bool = False
    """Whether a run would search with it."""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON-plain values."""
        return asdict(self)

    def facts(self) -> list[str]:
        """Return the known facts as short texts in a fixed order."""
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


def uncontacted(finding: Finding) -> Finding:
    """Return the finding of a part that is configured and was not contacted."""
    return replace(finding, state="unchecked", detail="not contacted")


def failed_finding(finding: Finding, detail: str, next_step: str = "", **changes: Any) -> Finding:
    """Return the finding of a part that does not work."""
    return replace(finding, state="failed", detail=detail, next_step=next_step, **changes)
