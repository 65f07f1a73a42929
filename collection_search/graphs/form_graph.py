"""A graph as a server shows it: its forms have the choices and defaults of the operator."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..context import SearchContext
from ..contracts.blank_fields import without_blanks
from ..settings.process_defaults import process_settings
from ..settings.served_form import context_form, input_form
from .validating_graph import ValidatingGraph

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph


class FormGraph(ValidatingGraph):
    """A compiled graph whose JSON schemas are those of a form; its empty texts are not given."""

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> FormGraph:
        """Return the same graph with the schemas of this process's settings."""
        served = cls.__new__(cls)
        vars(served).update(vars(graph))
        return served

    def _filled_in(self, given: Any, context: Any) -> tuple[Any, Any]:
        """Return input and context without the fields that nobody filled in."""
        if isinstance(given, Mapping):
            given = without_blanks(self._input_fields(), given)
        if isinstance(context, Mapping):
            context = without_blanks(SearchContext.model_fields, context)
        return given, context

    def _input_fields(self) -> Mapping[str, Any]:
        schema: Any = self.builder.input_schema  # a pydantic model in all four graphs
        fields: Mapping[str, Any] = schema.model_fields
        return fields

    def get_context_jsonschema(self) -> dict[str, Any]:
        """Return the context's schema. Raises ConfigError for wrong settings."""
        return context_form(_context_schema(), process_settings())  # keys may come and go

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the input's schema, required fields first. Raises ConfigError."""
        schema = super().get_input_jsonschema(config)
        is_open = "collection_scope" not in schema.get("required", ())
        scope = process_settings().default_collection if is_open else None
        return input_form(schema, {"collection_scope": scope})


@functools.cache
def _context_schema() -> dict[str, Any]:
    return SearchContext.model_json_schema()
