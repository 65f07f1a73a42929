"""What is wrong with an input, told without the input."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
    field_validator,
)

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
    """By its field; the words of a validator of our own stay."""
    says = describe_problems(refused({"count": 0, "name": "four"}))
    assert says == "count: give 1 or more; name: give three letters at most"


def test_a_problem_of_the_whole_has_a_name_too() -> None:
    """Nothing begins with a colon."""
    assert describe_problems(refused(7)) == "input: give a map of names and values"


@pytest.mark.parametrize(
    ("wanted", "given", "says"),
    [
        (Literal["general", "news"], "nonsense", "give general or news"),
        (dict[str, int], True, "give a map of names and values"),
        (Access, True, "give a map of names and values"),
        (Access, {"colour": 1}, "there is no such field"),
        (Annotated[int, Field(gt=0)], 0, "give more than 0"),
        (Annotated[float, Field(gt=0)], 0, "give more than 0"),
        (Annotated[float, Field(ge=0.5)], 0, "give 0.5 or more"),
        (Annotated[int, Field(le=10)], 11, "give 10 or less"),
        (Annotated[int, Field(lt=10)], 10, "give less than 10"),
        (Annotated[float, Field(allow_inf_nan=False)], float("inf"), "give a finite number"),
        (int, "many", "give a whole number"),
        (int, 2.5, "give a whole number"),
        (int, [], "give a whole number"),
        (float, "many", "give a number"),
        (float, [], "give a number"),
        (bool, "perhaps", "give true or false"),
        (bool, [], "give true or false"),
        (str, ["a"], "give a text"),
        (SecretStr, ["a"], "give a text"),
        (Annotated[str, Field(min_length=1)], "", "give 1 or more characters"),
        (Annotated[str, Field(max_length=3)], "four", "give 3 characters at most"),
        (list[str], "a", "give a list"),
        (Annotated[tuple[str, ...], Field(max_length=1)], "ab", "give a list"),
        (Annotated[tuple[str, ...], Field(max_length=1)], ["a", "b"], "give 1 or fewer of them"),
        (Path, 7, "give a path"),
    ],
)
def test_a_problem_is_told_in_plain_words(wanted: Any, given: Any, says: str) -> None:
    """They say what is possible, and name no type of a program."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(dict[str, wanted]).validate_python({"it": given})
    [problem] = list_problems(caught.value)
    assert problem["msg"] == says


def test_what_is_missing_is_told() -> None:
    """By its field."""

    class Person(BaseModel):
        name: str

    with pytest.raises(ValidationError) as caught:
        Person.model_validate({})
    assert describe_problems(caught.value) == "name: it is missing"
