"""The description of a search endpoint that answers in JSON, as the settings hold it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from ..contracts.health import StorageRights
from ..text.validation import require_form

DEFAULT_HEADER: Final = "Authorization"
_MODEL: Final = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
_HEADER: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_OUTSIDE_A_PATH: Final = re.compile(r"[\s?#]|://")


def split_path(path: str) -> tuple[str, ...]:
    """Return the names and list indexes of a dotted path, none for "" and ".".

    >>> split_path("data.items"), split_path("hits.0.url"), split_path(".")
    (('data', 'items'), ('hits', '0', 'url'), ())
    """
    return () if path in {"", "."} else tuple(path.split("."))


def set_value(body: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    """Set the value at a path of names. Raises ValueError where something else is already there.

    >>> body: dict[str, Any] = {"query": {"lang": "de"}}
    >>> set_value(body, ("query", "text"), "asyncio"); body
    {'query': {'lang': 'de', 'text': 'asyncio'}}
    """
    *above, last = path
    for name in above:
        body = body.setdefault(name, {})
        if not isinstance(body, dict):
            raise ValueError(f"{'.'.join(path)} lies below {name}, which is no object")  # noqa: TRY004 - of the settings
    if last in body:
        raise ValueError(f"{'.'.join(path)} is set twice")
    body[last] = value


def _validate_path(path: str) -> str:
    if "[" in path or not all(split_path(path) or ["."]):
        raise ValueError("a path is names and list indexes between dots, such as data.items.0")
    return path


def _validate_address_path(path: str) -> str:
    if _OUTSIDE_A_PATH.search(path):
        raise ValueError("only the path stands here: base_url has the host, params the parameters")
    return path


Parameter = Annotated[
    str,
    Field(min_length=1, max_length=200),
    AfterValidator(require_form(r"\S*", "give a name without blanks")),
]
"""The name of a parameter; in the body of a POST dots lead to a nested field."""
Header = Annotated[
    str, AfterValidator(require_form(_HEADER, "give the name of a header, such as X-Api-Key"))
]
HeaderText = Annotated[str, AfterValidator(require_form(r"[\x20-\x7e]*", "give printable ASCII"))]
ListPath = Annotated[str, Field(max_length=200), AfterValidator(_validate_path)]
ValuePath = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_validate_path)]


class ResultPaths(BaseModel):
    """The paths of the parts of a result."""

    model_config = _MODEL

    url: ValuePath
    title: ValuePath
    snippet: ValuePath | None = None
    content: ValuePath | None = None
    published_date: ValuePath | None = None
    score: ValuePath | None = None


class JsonApi(BaseModel):
    """How a search endpoint is asked, and where the parts of its answer are."""

    model_config = _MODEL

    path: Annotated[str, Field(max_length=500), AfterValidator(_validate_address_path)] = ""
    """Appended to the `base_url`."""
    method: Literal["GET", "POST"] = "GET"
    query: Parameter
    count: Parameter | None = None
    """The parameter for the number of results; None: the endpoint decides."""
    page_size: int = Field(default=20, ge=1, le=1000)
    """Most results of one request."""
    key_header: Header = Field(default=DEFAULT_HEADER, max_length=100)
    key_prefix: HeaderText | None = Field(default=None, max_length=100)
    """What stands before the key; by default `Bearer ` in `Authorization`, else nothing."""
    params: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    """Constant parameters."""
    results: ListPath
    fields: ResultPaths
    score_scale: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """The highest score; the lowest is 0."""
    storage_rights: StorageRights = "unknown"

    @model_validator(mode="after")
    def _check_parameters(self) -> Self:
        """Raise ValueError for parameters that cannot be sent together."""
        nested = [name for name, value in self.params.items() if isinstance(value, dict | list)]
        if self.method == "GET" and nested:
            raise ValueError(f"params.{nested[0]} is a list or an object, which only a POST sends")
        self.parameters("query", 1)
        return self

    def parameters(self, query: str, count: int) -> dict[str, Any]:
        """Return what a request sends: the query string of a GET, the JSON of a POST."""
        sent: dict[str, Any] = {name: _copied(value) for name, value in self.params.items()}
        asked: list[tuple[str, object]] = [(self.query, query)]
        asked += [(self.count, count)] if self.count else []
        for name, value in asked:
            set_value(sent, split_path(name) if self.method == "POST" else (name,), value)
        if self.method == "POST":
            return sent
        return {name: _as_text(value) for name, value in sent.items() if value is not None}

    def prefix(self) -> str:
        """Return what stands before the key in its header."""
        if self.key_prefix is not None:
            return self.key_prefix
        return "Bearer " if self.key_header.lower() == DEFAULT_HEADER.lower() else ""


def _copied(value: Any) -> Any:
    """Return the objects of a JSON value as new ones; what is in lists is not changed by anyone."""
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    return value


def _as_text(value: Any) -> str | int:
    """Return a value of a query string.

    >>> _as_text(True), _as_text(7), _as_text(0.5)
    ('true', 7, '0.5')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, int | str) else str(value)
