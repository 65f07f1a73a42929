"""Advice after an offline run: the settings that make it search the web."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ...settings import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NOT_LIVE: Final = {"offline", *registry.UNNAMED}
"""Adapters that are not live by a setting: the default, and those without a name."""
_PACKAGES: Final = {"ddgs": "ddgs", "local": "fastembed"}
"""The package that the extra of each adapter installs."""


def suggest_live_settings(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that replace the run's offline parts; nothing after a web search."""
    if output["search"]["provider"] != "offline":
        return
    embedder = output["telemetry"]["nodes"].get("k_embedding_rank", {}).get("embedder")
    yield "To go live, set in the environment, with the vendor's key (see README):"
    parts: list[tuple[str, str, registry.Group, bool]] = [
        ("PROVIDER", "searches the web", "search", True),
        ("MODEL", "plans the queries", "models", output["strategy"]["model"] is None),
        ("EMBEDDINGS", "ranks by meaning", "embeddings", embedder == "lexical"),
    ]
    for name, aim, group, is_missing in parts:
        if is_missing:
            yield f"  COLLECTION_SEARCH_{name:<10}  {aim} ({_available(group)})"


def _available(group: registry.Group) -> str:
    """Return which adapters are installed, and which need an extra."""
    known = [one for one in registry.names(group) if one not in _NOT_LIVE]
    wanting = [one for one in known if one in _PACKAGES and find_spec(_PACKAGES[one]) is None]
    installed = ", ".join(one for one in known if one not in wanting) or "none"
    extras = "".join(f"; {one} with the extra [{one}]" for one in wanting)
    return f"installed: {installed}{extras}"
