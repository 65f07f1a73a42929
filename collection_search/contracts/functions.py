"""The functions that a model can call: name, description and arguments of each, defined once.

Every tool definition is made from these: LangChain, OpenAI, Anthropic, MCP and plain Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from ..errors import InputError
from ..text.problems import describe_problems
from .search import Name, NormalizedQuery, NormalizedUrl

MAX_TOOL_RESULTS: Final = 10
DEFAULT_TOOL_RESULTS: Final = 5
MAX_PAGE_CHARS: Final = 100_000


class FunctionArguments(BaseModel):
    """Arguments of a function that a model calls."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WebSearchArguments(FunctionArguments):
    """Arguments of `web_search`."""

    query: NormalizedQuery = Field(min_length=1, description="The search query")
    # The specification says "number"; a model's 3.0 is a 3, and 2.5 is refused.
    max_results: Annotated[
        int,
        WithJsonSchema({"type": "number", "minimum": 1, "maximum": MAX_TOOL_RESULTS}),
    ] = Field(
        default=DEFAULT_TOOL_RESULTS,
        ge=1,
        le=MAX_TOOL_RESULTS,
        description=f"Number of results (1-{MAX_TOOL_RESULTS}, default {DEFAULT_TOOL_RESULTS})",
    )


class RetrieveArguments(FunctionArguments):
    """Arguments of `retrieve`."""

    question: NormalizedQuery = Field(
        min_length=1, max_length=2000, description="What you want to know from the collection"
    )
    collection: Name = Field(description="Name of the collection")
    k: int = Field(default=8, ge=1, le=20, description="Number of passages (1-20, default 8)")


class CollectionSearchArguments(FunctionArguments):
    """Arguments of `collection_search`."""

    question: NormalizedQuery = Field(
        min_length=1, max_length=2000, description="What the collection should answer"
    )
    collection: Name = Field(description="Name of the collection that the pages go into")
    max_pages: int = Field(
        default=10, ge=1, le=20, description="Number of pages at most (1-20, default 10)"
    )


class ReadPageArguments(FunctionArguments):
    """Arguments of `read_page`."""

    url: NormalizedUrl = Field(description="Address of the page, http or https")
    max_chars: int = Field(
        default=20_000,
        ge=200,
        le=MAX_PAGE_CHARS,
        description="Characters of the page's text at most (default 20000)",
    )


class FunctionDefinition(NamedTuple):
    """One function that a model can call."""

    name: str
    description: str
    arguments: type[FunctionArguments]

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments, without titles and references.

        >>> WEB_SEARCH.input_schema()["required"]
        ['query']
        """
        schema = self.arguments.model_json_schema()
        fields = schema["properties"].items()
        properties = {name: _without_title(field) for name, field in fields}
        required = schema.get("required", [])
        return {"type": "object", "properties": properties, "required": required}

    def validate_arguments(self, given: Mapping[str, Any]) -> FunctionArguments:
        """Return the arguments of one call. Raises InputError, from which a model can learn."""
        try:
            return self.arguments.model_validate(given)
        except ValidationError as error:
            problems = describe_problems(error)
            raise InputError(f"The arguments of {self.name} cannot be used. {problems}") from error


WEB_SEARCH: Final = FunctionDefinition(
    "web_search",
    "Search the web for current information. Use for facts, recent events, or research.",
    WebSearchArguments,
)
RETRIEVE: Final = FunctionDefinition(
    "retrieve",
    "Find passages in a stored collection of web pages, with their sources. Use for questions"
    " about pages that were collected before.",
    RetrieveArguments,
)
COLLECTION_SEARCH: Final = FunctionDefinition(
    "collection_search",
    "Search the web for a question, choose the best pages and store them in a collection. Use"
    " before retrieve, when the collection lacks pages about the question. Takes up to a minute.",
    CollectionSearchArguments,
)
READ_PAGE: Final = FunctionDefinition(
    "read_page",
    "Read the text of one web page. Use when a search result is not enough.",
    ReadPageArguments,
)
FUNCTIONS: Final[Mapping[str, FunctionDefinition]] = {
    one.name: one for one in (WEB_SEARCH, RETRIEVE, COLLECTION_SEARCH, READ_PAGE)
}


def _without_title(field: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in field.items() if name != "title"}
