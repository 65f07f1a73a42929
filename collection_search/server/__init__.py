"""The HTTP server: a page for people and its API, alone or mounted into a LangGraph server."""
