"""What is wrong with an input, told without the input."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from collection_search.text.problems import describe_problems, list_problems

SECRET = "tvly-my-key-0123456789"


class Access(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = Field(default=1, ge=1)
    name: str = "a"

    @field_validator("name")
    @classmethod
    def _is_short(cls, name: str) -> str:
        if len(name) > 3:
            raise ValueError("give three letters at most")
        return name


def refused(given: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Access.model_validate(given)
    return caught.value


@pytest.mark.parametrize(
    "given", [SECRET, {"count": SECRET}, {"name": SECRET}, {"other": SECRET}, {"count": [SECRET]}]
)
def test_no_value_is_shown(given: Any) -> None:
    """Neither in the sentence nor in the problems that others make sentences of."""
    error = refused(given)
    assert SECRET not in describe_problems(error) + repr(list_problems(error))


def test_every_problem_is_named_once() -> None:
    """By its field, in the validator's own words."""
    says = describe_problems(refused({"count": 0, "name": "four"}))
    assert says == (
        "count: Input should be greater than or equal to 1; name: give three letters at most"
    )


def test_a_problem_of_the_whole_has_a_name_too() -> None:
    """Nothing begins with a colon."""
    assert describe_problems(refused(7)).startswith("input: ")
