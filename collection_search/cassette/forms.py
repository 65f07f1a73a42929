"""The JSON form of the ports' dataclasses: which fields are left out, and how they are read."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

from annotated_types import Ge
from pydantic import (
    BaseModel,
    ConfigDict,
    Strict,
    StrictInt,
    StrictStr,
    ValidationError,
    create_model,
)

from ..contracts.search import ProviderSearchResult
from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

REQUIRED: Final = object()
"""Stands for the default of a field that has none."""


@cache
def usual_values(kind: type[Any]) -> dict[str, Any]:
    """Return the defaults of a dataclass, empty lists for tuples; what is required has none."""
    return {field.name: _default(field) for field in fields(kind)}


def _default(field: Field[Any]) -> Any:
    usual = field.default if field.default_factory is MISSING else field.default_factory()
    if usual is MISSING:
        return REQUIRED
    return list(usual) if isinstance(usual, tuple) else usual


def read_fields(kind: type[T], given: Any, what: str) -> T:
    """Return the dataclass with the known fields of `given`; objects in them are models.

    `what` is for example "the answer". Raises InputError for a form that is not the right one.
    """
    form = _form_of(kind)  # type: ignore[arg-type] # mypy doubts that a class has a hash
    try:
        return given_fields(kind, form.model_validate(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    raise InputError(_mistake([str(step) for step in first["loc"]], first["type"], what))


def given_fields(kind: type[T], read: BaseModel) -> T:
    """Return the dataclass with those fields of a model that were given."""
    return kind(**{name: getattr(read, name) for name in read.model_fields_set})


def _mistake(where: list[str], kind: str, what: str) -> str:
    if where[:1] == ["results"] and len(where) > 1:
        where, what = where[2:], "a result"
    elif where[:1] == ["vectors"] and kind != "missing":
        where, what = where[1:] or ["shape"], "the vectors"
    if not where:
        return f"{what} is no JSON object."
    if kind == "missing":
        return f"{what} has no {where[0]}."
    problem = _PROBLEMS.get(where[0], "has the wrong form")
    return f"{where[0]} of {what} {problem}."


@cache
def _form_of(kind: Any) -> type[BaseModel]:
    """Return the model that validates a dataclass: lists and objects where its fields have them.

    Other values may have any scalar type, unless `_TYPES` names one.
    """
    defined: dict[str, Any] = {
        name: (_type_of(name, usual), ... if usual is REQUIRED else None)
        for name, usual in usual_values(kind).items()
    }
    return create_model(kind.__name__, __config__=_CONFIG, **defined)


def _type_of(name: str, usual: Any) -> Any:
    if name == "results":
        return list[_form_of(ProviderSearchResult)]  # type: ignore[misc] # made at run time
    if known := _TYPES.get(name):
        return known
    match None if usual is REQUIRED else usual:
        case None:
            return Any
        case list():
            return list[Any]
        case dict():
            return dict[str, Any]
    return _Scalar


_CONFIG: Final = ConfigDict(hide_input_in_errors=True)


class _Vectors(BaseModel):
    model_config = _CONFIG

    shape: list[Annotated[StrictInt, Ge(0)]]
    float32: StrictStr


_Scalar: TypeAlias = str | int | float | bool | None
_TYPES: Final[dict[str, Any]] = {
    "status_code": StrictInt,
    "queries": list[StrictStr],
    "model": StrictStr,
    "input_tokens": Annotated[int | None, Strict()],
    "output_tokens": Annotated[int | None, Strict()],
    "vectors": _Vectors,
}
"""Types of the fields whose values are validated."""
_PROBLEMS: Final[Mapping[str, str]] = {
    "status_code": "is no whole number",
    "queries": "are no list of texts",
    "model": "is no text",
    "input_tokens": "is no whole number",
    "output_tokens": "is no whole number",
    "shape": "is no list of whole numbers",
    "float32": "is no base64",
}
"""Messages for a value of another type."""
