"""What a form sends: a field that nobody filled in comes as an empty text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, model_validator


class Form(BaseModel):
    """A model whose fields with a default take an empty text as not given.

    >>> class Asked(Form):
    ...     limit: int = 5
    >>> Asked.model_validate({"limit": " "}).limit
    5
    """

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        blank = {name for name, value in given.items() if _is_blank(value)}
        fields = cls.model_fields
        unset = {name for name in blank if name in fields and not fields[name].is_required()}
        return (
            {name: value for name, value in given.items() if name not in unset} if unset else given
        )


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()
