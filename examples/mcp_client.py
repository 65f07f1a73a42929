"""An MCP client: starts `collection-search mcp` over stdio, and calls two of its tools."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = StdioServerParameters(
    command=sys.executable,
    args=["-m", "collection_search", "mcp", "--provider", "offline"],
    env=dict(os.environ),  # a client gives a server nothing of its environment by itself
)


async def main() -> None:
    """Print the tools, and what two calls return."""
    async with Client(stdio_client(SERVER)) as client:
        listed = await client.list_tools()
        print("Tools:", ", ".join(tool.name for tool in listed.tools))
        given = {"query": "asyncio timeout", "max_results": 2}
        found = await client.call_tool("web_search", given)
        print("\nweb_search:", texts(found)[:300])
        asked = {"question": "What is asyncio?", "collection": "nothing-here"}
        missing = await client.call_tool("retrieve", asked)
        print("\nretrieve:", missing.is_error, texts(missing))


def texts(result: object) -> str:
    """Return the text of a result."""
    return "\n".join(getattr(part, "text", "") for part in getattr(result, "content", []))


if __name__ == "__main__":
    asyncio.run(main())
