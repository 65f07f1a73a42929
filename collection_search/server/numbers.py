"""Numbers in requests, within the bounds of every store and of JSON."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

MAX_NUMBER: Final = (1 << 53) - 1
"""The largest integer that every reader of JSON has exactly; SQLite's are larger."""


def _count(given: Any) -> Any:
    return 0 if given == "" else given


Count = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
"""How many to pass over."""
HeaderCount = Annotated[Count, BeforeValidator(_count)]
"""The same in a header, where an empty one counts as none."""
