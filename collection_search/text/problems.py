"""Problems that pydantic finds, as sentences without values, which may be private."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


def list_problems(error: ValidationError, *, with_input: bool = False) -> list[ErrorDetails]:
    """Return every problem with its `loc`, `type` and `msg`.

    `with_input` is for words that a person has just typed, which are no secrets.
    """
    problems = error.errors(include_url=False, include_input=with_input, include_context=False)
    for problem in problems:
        problem["msg"] = problem["msg"].removeprefix("Value error, ")  # pydantic's prefix
    return problems


def describe_problems(error: ValidationError) -> str:
    """Return all problems in one line, each after the name of its field.

    >>> from pydantic import BaseModel, ValidationError
    >>> class Point(BaseModel):
    ...     x: int
    >>> try:
    ...     Point.model_validate({"x": "my password"})
    ... except ValidationError as error:
    ...     describe_problems(error)
    'x: Input should be a valid integer, unable to parse string as an integer'
    """
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'input'}: {problem['msg']}"
        for problem in list_problems(error)
    )
