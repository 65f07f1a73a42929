"""What the search worker is made of: calls, attempts, rows, options, the route over providers."""
