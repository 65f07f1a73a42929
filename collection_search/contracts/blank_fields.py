"""Fields of a form that nobody filled in: they come as empty texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic.fields import FieldInfo


def without_blanks(fields: Mapping[str, FieldInfo], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given without the empty texts of fields that may be left out.

    >>> from pydantic import BaseModel
    >>> class Asked(BaseModel):
    ...     question: str
    ...     limit: int = 5
    >>> without_blanks(Asked.model_fields, {"question": "", "limit": " "})
    {'question': ''}
    """
    return {
        name: value
        for name, value in given.items()
        if not _is_blank(value) or name not in fields or fields[name].is_required()
    }


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()
