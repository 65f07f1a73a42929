"""The result of a free health check; a failed check raises an error instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StorageRights = Literal["unknown", "allowed", "by plan"]
"""Whether texts of a vendor may be stored; `by plan`: only some of its plans allow it."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a component that was reached."""

    detail: str = ""
    key_valid: bool | None = None
    """None: there is no key, or only a paid call could check it."""
    quota_left: int | None = None
    """None: unknown or unlimited."""
    quota_unit: str = "searches"
    is_listed: bool | None = None
    """Whether the list of models has the model; None where there is no list."""
    has_free_call: bool = True
    """False: the endpoint answers, but lacks the call that would check the key for nothing."""
    advice: str = ""
    """What should be changed although it works."""
