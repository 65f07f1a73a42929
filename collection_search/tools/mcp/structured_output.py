"""The output of a function as JSON for an MCP client, which may show it to its model as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...text.untrusted import neutralize, neutralize_line, quote_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...contracts.functions import FunctionOutput

_FACTS: Final[Mapping[str, frozenset[str]]] = {
    "meta": frozenset({"provider", "result_count", "latency_ms", "cached", "notices", "error"}),
    "provenance": frozenset(
        {
            *("provider", "source", "published_date", "content_hash"),
            *("start", "end", "headings", "page", "truncated_at_page"),
        }
    ),
}
"""What is shown of a mapping whose other facts are the operator's: ids, money, questions."""
_TEXTS: Final = frozenset({"content", "snippet", "text"})
"""Fields with lines; any other string is one line."""


def show_output(output: FunctionOutput) -> dict[str, Any]:
    """Return the output as JSON-plain values, without effect on a model that reads them.

    The ids, the money and the questions of runs are the operator's and stay here.
    """
    plain: dict[str, Any] = _shown("", output.model_dump(mode="json"))
    return plain


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _shown_text(name, value)
    if isinstance(value, dict):
        facts = _FACTS.get(name, value)
        return {key: _shown(key, inner) for key, inner in value.items() if key in facts}
    if isinstance(value, list):
        return [_shown(name, inner) for inner in value]
    return value


def _shown_text(name: str, text: str) -> str:
    if name == "url":
        return quote_url(text)
    return neutralize(text) if name in _TEXTS else neutralize_line(text)
