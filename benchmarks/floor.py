"""The least that the job takes: the same calls by hand, without graph, validation or tracing."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import orjson

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Post = Callable[[str, Any], Awaitable[bytes]]

TRACKING: Final = {
    "gclid",
    "fbclid",
    "igshid",
    "msclkid",
    "mc_eid",
    "vero_conv",
    "vero_id",
    "yclid",
}
SCHEMA: Final = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    "required": ["queries"],
    "additionalProperties": False,
}
FORMAT: Final = {
    "type": "json_schema",
    "json_schema": {"name": "queries", "strict": True, "schema": SCHEMA},
}


def normalized(url: str) -> str:
    """Return scheme and host in lower case, no fragment, no tracking, parameters sorted."""
    scheme, host, path, query, _ = urlsplit(url)
    pairs = parse_qsl(query, keep_blank_values=True) if query else ()
    kept = sorted((k, v) for k, v in pairs if not k.startswith("utm_") and k not in TRACKING)
    return f"{scheme.lower()}://{host.lower()}{path}" + (f"?{urlencode(kept)}" if kept else "")


async def ask(
    question: str, post: Post, models_url: str, search_url: str, *, limit: int = 20
) -> list[str]:
    """Return the addresses of the best pages, best first."""
    messages = [
        {"role": "system", "content": "Plan up to five web searches. Answer in JSON."},
        {"role": "user", "content": question},
    ]
    request = {"model": "gpt-4o-mini", "messages": messages, "response_format": FORMAT}
    plan = orjson.loads(await post(f"{models_url}/chat/completions", request))
    queries = orjson.loads(plan["choices"][0]["message"]["content"])["queries"]
    bodies = ({"query": query, "max_results": 10} for query in queries)
    found = await asyncio.gather(*(post(f"{search_url}/search", body) for body in bodies))
    pages: dict[str, str] = {}
    for row in (row for answer in found for row in orjson.loads(answer)["results"]):
        pages.setdefault(normalized(row["url"]), f"{row['title']}\n{row['content']}")
    request = {
        "model": "text-embedding-3-small",
        "input": [question, *pages.values()],
        "encoding_format": "base64",
    }
    rows = orjson.loads(await post(f"{models_url}/embeddings", request))["data"]
    data = b"".join(base64.b64decode(row["embedding"]) for row in rows)
    vectors = np.frombuffer(data, np.float32).reshape(len(rows), -1)
    order = np.argsort(-(vectors[1:] @ vectors[0]))[:limit]
    addresses = list(pages)
    return [addresses[place] for place in order]
