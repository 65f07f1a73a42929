"""Web search as a tool that a model calls: its definition, and the result of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..contracts.service import MAX_SERVICE_RESULTS
from ..errors import WebSearchError
from .search_texts import injected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .service import WebSearchService

TOOL_NAME: Final = "web_search"


def provider_tool() -> dict[str, Any]:
    """Return the definition: a name, a description and a JSON schema of the input.

    >>> provider_tool()["input_schema"]["required"]
    ['query']
    """
    return {
        "name": TOOL_NAME,
        "description": (
            "Search the web for current information. Use for facts, recent events, or research."
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "The search query"},
                "max_results": {
                    "type": "number",
                    "description": f"Number of results (1-{MAX_SERVICE_RESULTS}, default 5)",
                },
            },
            "required": ["query"],
        },
    }


async def answer_tool(
    service: WebSearchService, arguments: Mapping[str, Any], *, deep: bool = False
) -> str:
    """Return the results of one call, or an error message, as text.

    `arguments` are the model's own: a number may be `3.0`. A `deep` search returns content as well.
    """
    given = {name: arguments[name] for name in ("max_results",) if name in arguments}
    given |= {"search_depth": "deep"} if deep else {}
    try:
        request = {"query": arguments.get("query", ""), "options": given}
        return injected(await service.asearch(request), deep=deep)
    except WebSearchError as error:
        return f"Search failed: {error}"
