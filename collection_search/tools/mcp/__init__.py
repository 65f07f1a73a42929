"""The functions that models call, as tools of an MCP server over stdio and HTTP.

Importing it raises MissingExtraError without the package `mcp`, version 2 or newer.
"""

import importlib.util

from ...errors import MissingExtraError

if importlib.util.find_spec("mcp_types") is None:  # it came with version 2
    raise MissingExtraError(
        "The MCP server needs an extra. Run: pip install 'collection-search[mcp]'"
    )
