"""What a check of a part says that spends nothing; one that fails raises an error instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StorageRights = Literal["unknown", "allowed", "by plan"]
"""Whether texts that a vendor delivers may be kept; `by plan`: only some of its plans allow it."""


@dataclass(frozen=True, slots=True)
class Health:
    """How a part is that can be reached."""

    detail: str = ""
    key_valid: bool | None = None
    """None: there is no key, or nothing but a paid call would tell."""
    quota_left: int | None = None
    """None: not told, or without end."""
    quota_unit: str = "searches"
    is_listed: bool | None = None
    """Whether the list of models has the model; None where there is no list."""
