"""Checks whether every part works, and suggests the next step."""
