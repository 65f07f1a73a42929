"""A graph as a server shows it: its forms have the choices and defaults of the operator."""

from __future__ import annotations

import functools
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ..context import SearchContext
from ..settings.process_defaults import process_settings
from ..settings.served_form import context_form, input_form
from .validating_graph import ValidatingGraph

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph


class ServedGraph(ValidatingGraph):
    """A compiled graph whose JSON schemas are those of a form."""

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> ServedGraph:
        """Return the same graph with the schemas of this process's settings."""
        served = cls.__new__(cls)
        vars(served).update(vars(graph))
        return served

    def get_context_jsonschema(self) -> dict[str, Any]:
        """Return the context's schema. Raises ConfigError for wrong settings."""
        return deepcopy(_context_form())  # a server reads it in every run

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the input's schema, required fields first. Raises ConfigError."""
        schema = super().get_input_jsonschema(config)
        is_open = "collection_scope" not in schema.get("required", ())
        scope = process_settings().default_collection if is_open else None
        return input_form(schema, {"collection_scope": scope})


@functools.cache
def _context_form() -> dict[str, Any]:
    return context_form(SearchContext.model_json_schema(), process_settings())
