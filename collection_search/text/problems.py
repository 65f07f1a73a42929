"""Problems that pydantic finds, as sentences without values, which may be private."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_MAP: Final = "give a map of names and values"
_WHOLE: Final = "give a whole number"
_NUMBER: Final = "give a number"
_YES_OR_NO: Final = "give true or false"
_LIST: Final = "give a list"
_WORDS: Final[Mapping[str, str]] = {
    "bool_parsing": _YES_OR_NO,
    "bool_type": _YES_OR_NO,
    "dict_type": _MAP,
    "extra_forbidden": "there is no such field",
    "finite_number": "give a finite number",
    "float_parsing": _NUMBER,
    "float_type": _NUMBER,
    "greater_than": "give more than {gt}",
    "greater_than_equal": "give {ge} or more",
    "int_from_float": _WHOLE,
    "int_parsing": _WHOLE,
    "int_type": _WHOLE,
    "less_than": "give less than {lt}",
    "less_than_equal": "give {le} or less",
    "list_type": _LIST,
    "literal_error": "give {expected}",
    "missing": "it is missing",
    "model_attributes_type": _MAP,
    "model_type": _MAP,
    "path_type": "give a path",
    "string_too_long": "give {max_length} characters at most",
    "string_too_short": "give {min_length} or more characters",
    "string_type": "give a text",
    "too_long": "give {max_length} or fewer of them",
    "too_short": "give {min_length} or more of them",
    "tuple_type": _LIST,
}
"""What is possible, by pydantic's type of the problem."""


def list_problems(error: ValidationError, *, with_input: bool = False) -> list[ErrorDetails]:
    """Return every problem with its `loc`, `type` and `msg`, which says what is possible.

    `with_input` is for words that a person has just typed, which are no secrets.
    """
    return reword_problems(error.errors(include_url=False), with_input=with_input)


def reword_problems(
    problems: list[ErrorDetails], *, with_input: bool = False
) -> list[ErrorDetails]:
    """Return the problems as `list_problems` does."""
    for problem in problems:
        given = problem["input"] if with_input else problem.pop("input")  # type: ignore[misc]
        if isinstance(given, str) and problem["type"] in ("too_long", "too_short"):
            problem["type"] = f"string_{problem['type']}"  # pydantic's name of it in most cases
        limits = {name: _plain(value) for name, value in problem.pop("ctx", {}).items()}
        if words := _WORDS.get(problem["type"]):
            problem["msg"] = words.format_map(limits)
        problem["msg"] = problem["msg"].removeprefix("Value error, ")  # pydantic's prefix
    return problems


def describe_problems(error: ValidationError, known: Iterable[str] = ()) -> str:
    """Return all problems in one line, each after the name of its field.

    `known` are names of which the nearest one is suggested for an unknown field.

    >>> from pydantic import BaseModel, ValidationError
    >>> class Point(BaseModel):
    ...     x: int
    >>> try:
    ...     Point.model_validate({"x": "my password"})
    ... except ValidationError as error:
    ...     describe_problems(error)
    'x: give a whole number'
    """
    return join_problems(list_problems(error), known)


def join_problems(problems: Iterable[ErrorDetails], known: Iterable[str] = ()) -> str:
    """Return the problems as `describe_problems` does."""
    names = tuple(known)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'input'}: {problem['msg']}"
        f"{_suggest_field(problem, names)}"
        for problem in problems
    )


def _suggest_field(problem: ErrorDetails, names: Iterable[str]) -> str:
    path = problem["loc"]
    is_unknown = problem["type"] == "extra_forbidden" and len(path) == 1
    return suggest(str(path[0]), names).replace("; ", ", ") if is_unknown else ""


def suggest(
    name: str, known: Iterable[str], shown: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the nearest known name as the end of a sentence, empty where none is near.

    >>> suggest("Tenannt", ["home", "tenant"]), suggest("colour", ["home", "tenant"])
    ('; did you mean tenant?', '')
    """
    import difflib

    names = {one.lower(): shown.get(one, one) for one in known}
    near = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else ""


def _plain(value: Any) -> str:
    """Return a limit, or the possible values, as a text.

    >>> _plain(0.0), _plain("'general' or 'news'")
    ('0', 'general or news')
    """
    return str(value).removesuffix(".0").replace("'", "")
