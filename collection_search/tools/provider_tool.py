"""Web search by the search service as a tool that a model calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..contracts.functions import DEFAULT_TOOL_RESULTS, WEB_SEARCH
from ..errors import InputError, WebSearchError
from ..text.untrusted import fence
from .failed_calls import describe_failure
from .function_specs import anthropic_tool
from .search.function_entry import limit_results
from .search_texts import format_for_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .service import WebSearchService


def provider_tool() -> dict[str, Any]:
    """Return the definition: a name, a description and a JSON schema of the input.

    >>> provider_tool()["input_schema"]["required"]
    ['query']
    """
    return anthropic_tool(WEB_SEARCH.name)


async def answer_tool(
    service: WebSearchService, arguments: Mapping[str, Any], *, deep: bool = False
) -> str:
    """Return the results of one call, or an error message, as text.

    `arguments` are the model's own: a number may be `3.0`. A `deep` search returns content as well.
    The results are inside a fence, since they are text of the web. The service's provider is
    asked; the settings' entry `web_search` says whether, and for how many results at most.
    """
    try:
        given = WEB_SEARCH.validate_arguments(arguments)
        count = limit_results(service.settings, given.max_results) or DEFAULT_TOOL_RESULTS
        options = {"max_results": count} | ({"search_depth": "deep"} if deep else {})
        response = await service.asearch({"query": given.query, "options": options})
    except (InputError, WebSearchError) as error:
        return f"Search failed: {describe_failure(error)}"
    return fence(format_for_model(response, deep=deep))
