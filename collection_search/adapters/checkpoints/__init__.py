"""Checkpointers: where a paused run is kept."""
