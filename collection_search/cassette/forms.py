"""The form that a dataclass of the ports has in JSON: what is left out, and what is read back."""

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
    return {
        field.name: REQUIRED if _is_required(field) else _default(field) for field in fields(kind)
    }


def _default(field: Field[Any]) -> Any:
    usual = field.default if field.default_factory is MISSING else field.default_factory()
    return list(usual) if isinstance(usual, tuple) else usual


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def read_fields(kind: type[T], given: Any, what: str) -> T:
    """Return the dataclass with the known fields of `given`; objects in them are models.

    `what` is for example "the answer". Raises InputError for a form that is not the right one.
    """
    form = _form_of(kind)  # type: ignore[arg-type] # mypy doubts that a class has a hash
    return given_fields(kind, _validated(form, given, what))


def given_fields(kind: type[T], read: BaseModel) -> T:
    """Return the dataclass with those fields of a model that were given."""
    return kind(**{name: getattr(read, name) for name in read.model_fields_set})


def _validated(form: type[BaseModel], given: Any, what: str) -> BaseModel:
    try:
        return form.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = [str(step) for step in first["loc"]]
    if where[:1] == ["results"] and len(where) > 1:
        where, what = where[2:], "a result"
    elif where[:1] == ["vectors"] and first["type"] != "missing":
        where, what = where[1:] or ["shape"], "the vectors"
    if not where:
        raise InputError(f"{what} is no JSON object.")
    if first["type"] == "missing":
        raise InputError(f"{what} has no {where[0]}.")
    problem = _PROBLEMS.get(where[0], "has not the form that it should have")
    raise InputError(f"{where[0]} of {what} {problem}.")


@cache
def _form_of(kind: type[Any]) -> type[BaseModel]:
    """Return what a dataclass is read by: a list or an object just where its field has one.

    Other values are as third parties gave them, unless `_TYPES` says what they must be.
    """
    defined: dict[str, Any] = {
        field.name: (_type_of(field), ... if _is_required(field) else None)
        for field in fields(kind)
    }
    return create_model(kind.__name__, __config__=_CONFIG, **defined)


def _type_of(field: Field[Any]) -> Any:
    if field.name == "results":
        return list[_form_of(ProviderSearchResult)]  # type: ignore[misc] # made at run time
    if known := _TYPES.get(field.name):
        return known
    match None if _is_required(field) else _default(field):
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
"""Of the fields whose values are looked at."""
_PROBLEMS: Final[Mapping[str, str]] = {
    "status_code": "is no whole number",
    "queries": "are no list of texts",
    "model": "is no text",
    "input_tokens": "is no whole number",
    "output_tokens": "is no whole number",
    "shape": "is no list of whole numbers",
    "float32": "is no base64",
}
"""What is said of a value of another type."""
