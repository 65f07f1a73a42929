"""The parts of the search tool: calls, attempts, rows, options, the route over providers."""
