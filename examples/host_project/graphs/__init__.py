"""The graphs."""
