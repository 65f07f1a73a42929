"""The graphs as a LangGraph server runs them: `langgraph.json` names these.

The server drops the keys of a context that the schema does not have; only a graph factory sees
them all. Each factory returns a graph that is compiled already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from langgraph.graph.state import CompiledStateGraph

from ..errors import ConfigError
from ..text.problems import suggest
from . import collection_review as reviews
from . import collection_search as searches
from . import research_agent as agent
from . import universal_ingestion as ingestions
from .call_config import remote_fields
from .form_graph import FormGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from langgraph_sdk.runtime import ServerRuntime

_Graph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]
_OF_THE_SERVER: Final = frozenset({
    "thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "run_id", "graph_id",
    "assistant_id", "user_id", "cron_id",
})  # fmt: skip
_PREFIXES: Final = ("__", "langgraph_", "x-")
"""A run with a `configurable` and no context has its keys as the context, those of the server and
of the request's headers included."""


def _serve(graph: _Graph) -> Callable[[ServerRuntime[Any]], _Graph]:
    """Return the graph's factory for a server, which reads the annotations of its parameters."""
    shown = FormGraph.of(graph)

    def served(runtime: ServerRuntime[Any]) -> _Graph:
        given = getattr(runtime, "context", None)  # only a run has one
        if isinstance(given, Mapping):
            refuse_unknown_keys(given)
        return shown

    return served


def refuse_unknown_keys(context: Iterable[str]) -> None:
    """Raise ConfigError naming each key that no context of a remote caller has."""
    fields = remote_fields()
    wrong = [
        f"{key}: there is no such field{suggest(key, fields).replace(';', ',')}"
        for key in context
        if key not in fields and key not in _OF_THE_SERVER and not key.startswith(_PREFIXES)
    ]
    if wrong:
        raise ConfigError(f"The context is not valid. {'; '.join(wrong)}")


collection_search = _serve(searches.graph)
collection_review = _serve(reviews.graph)
research_agent = _serve(agent.graph)
universal_ingestion = _serve(ingestions.graph)
