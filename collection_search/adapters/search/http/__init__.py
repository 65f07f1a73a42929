"""What the search providers that are HTTP APIs have in common."""
