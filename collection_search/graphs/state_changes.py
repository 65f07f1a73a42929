"""Validation of what a caller writes into the state of a run, before it is written.

A node reads the state without looking, so a wrong value would end the run far from its cause.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, cast, get_type_hints

from langgraph.channels import BinaryOperatorAggregate
from langgraph.graph import START
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ..contracts.search import NormalizedQuery  # noqa: TC001 - pydantic reads it
from ..errors import InputError
from ..planning.quality import MAX_QUERIES
from ..text.problems import join_problems, list_problems, suggest

if TYPE_CHECKING:
    from collections.abc import Hashable

    from langgraph.graph import StateGraph
    from pydantic_core import ErrorDetails


_MAX_QUERIES: Final = 4 * MAX_QUERIES
"""Each of them is searched for and paid."""


class _Planned(TypedDict):
    """What is needed of a strategy."""

    queries: Annotated[list[NormalizedQuery], Field(min_length=1, max_length=_MAX_QUERIES)]


_NEEDED: Final[Mapping[str, Any]] = MappingProxyType(
    {"strategy": _Planned, "flags": list[str], "reviewed": list[str]}
)
"""What the nodes need of a field, where the state's own type asks for more."""
_AS_STATED: Final = frozenset(("candidates", "results"))
"""Lists of pages, of which the nodes read each field."""


def refuse_wrong_change(builder: StateGraph[Any, Any, Any, Any], change: Any) -> None:
    """Raise InputError naming each field of a changed state that is wrong or unknown.

    What is no map of fields is left to LangGraph.
    """
    if not isinstance(change, Mapping):
        return
    said = [
        f"{name}: there is no such field{suggest(name, builder.channels).replace('; ', ', ')}"
        for name in map(str, change)
        if name not in builder.channels
    ]
    if problems := [*_problems_of_input(builder, change), *_problems_of_lists(builder, change)]:
        said.append(join_problems(problems))
    if said:
        raise InputError(
            f"The change of the state is not valid. {'; '.join(said)}. Nothing was changed."
        )


def _problems_of_input(
    builder: StateGraph[Any, Any, Any, Any], change: Mapping[str, Any]
) -> list[ErrorDetails]:
    """Return what is wrong with the fields of the input; those that are missing stay as they are.

    A field with a reducer takes other forms, such as one message.
    """
    first = next(end for start, end in builder.edges if start == START)
    model: type[BaseModel] = builder.nodes[first].input_schema
    given = {
        name: change[name]
        for name in model.model_fields.keys() & change.keys()
        if not isinstance(builder.channels[name], BinaryOperatorAggregate)
    }
    try:
        model.model_validate(given)
    except ValidationError as error:
        return [one for one in list_problems(error) if one["loc"] and one["loc"][0] in given]
    return []


def _problems_of_lists(
    builder: StateGraph[Any, Any, Any, Any], change: Mapping[str, Any]
) -> list[ErrorDetails]:
    """Return what is wrong with the queries, the pages and the flags."""
    problems: list[ErrorDetails] = []
    for name, adapter in _adapters(cast("Hashable", builder.state_schema)).items():
        if name in change:
            try:
                adapter.validate_python(change[name])
            except ValidationError as error:
                for problem in list_problems(error):
                    problem["loc"] = (name, *problem["loc"])
                    problems.append(problem)
    return problems


@functools.cache
def _adapters(state: Hashable) -> dict[str, TypeAdapter[Any]]:
    """Return the types of the fields that the nodes read and no input has."""
    hints = get_type_hints(state, include_extras=True)
    return {
        name: TypeAdapter(hints[name] if name in _AS_STATED else _NEEDED[name])
        for name in hints
        if name in _AS_STATED or name in _NEEDED
    }
